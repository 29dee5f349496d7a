-- Moves on by the time the engine was away whatever lasts: places, sessions, holds and claims. An
-- outage ends nothing then.
--
-- Takes O(n log n) in holds, claims and sessions that are live; the line moves in one step.
--
-- Args      1 how long it was away, in milliseconds; or 'away': as long as {'away', …} said, unless
--           somebody else has seen to it meanwhile
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, EVENT_ARCHIVED, INVALID_SETTINGS
-- Changes   resumed; none if there was nothing to do for 'away'
--#include change
--#include gaps
--#include holds
--#include claims

local out = read_event{'moved_ms', 'gaps'}
if out then return out end
if not M.seq then return no('EVENT_NOT_FOUND') end
remembers = true
out = remembered() or archived() or complaint()
if out then return out end

local gap_ms
if A(1) == 'away' then
  local silence = away()
  if not silence then return commit(DONE) end
  gap_ms = tonumber(silence[2])
else
  gap_ms = tonumber(A(1))
  if gap_ms <= 0 then return no_why('INVALID_SETTINGS', 'gap_ms: use a positive number') end
end

local function move_session(member, field)
  local user = string.sub(member, 2 + NUMBER_DIGITS + 2)
  local session = sessions.get(user)
  session[field] = session[field] + gap_ms
  sessions.put(user, session)
  redis.call('ZINCRBY', K.deadlines, int(gap_ms), member)
end

change('{"resumed":{"gap_ms":' .. int(gap_ms) .. '}}')
if M.opened == '1' then
  put_meta('moved_ms', int((tonumber(M.moved_ms) or 0) + gap_ms))
end
gaps.note(gap_ms)
put_meta('alive', int(now))
-- From the last deadline to the first: whatever moves stays behind those that were not looked at yet.
local AT_ONCE = 1000
for last = redis.call('ZCARD', K.deadlines) - 1, 0, -AT_ONCE do
  local members = redis.call('ZRANGE', K.deadlines, math.max(last - AT_ONCE + 1, 0), last)
  for _, member in ipairs(members) do
    local kind, id = string.sub(member, 1, 1), string.sub(member, 3)
    if kind == '1' then
      move_hold(id, gap_ms)
    elseif kind == '2' then
      move_claim(id, gap_ms)
    elseif kind == '3' then
      move_session(member, 'arrive_by')
    elseif kind == '4' then
      move_session(member, 'until_at')
    end
  end
end
return commit(DONE)
