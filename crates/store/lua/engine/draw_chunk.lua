-- Writes a part of the drawn order, before the sale opens. Nobody reads the order of a draw's line
-- before that; who left meanwhile is simply gone, and who came too late for the draw stands behind
-- all ranks.
--
-- Args      1 generation: a name of this drawing, of all of its parts · 2 number of the part, from
--           0 · 3 '1' for the last · 4 rank of its first place, from 1 · 5… members of the line
--           (`<number, 10 digits>:<user>`), in their order
-- Reply     done; {'stale', seq, epoch} if another drawing began meanwhile or the sale has opened:
--           ask open_sale again
-- Refusals  EVENT_NOT_FOUND
-- Changes   none: the order counts once open_sale says so
--#include change

local out = open{'draw_generation', 'draw_part'}
if out then return out end

local generation, part, rank = A(1), tonumber(A(2)), tonumber(A(4))
if part == 0 and M.draw_generation ~= generation then
  M.draw_generation, M.draw_part = generation, '0'
  redis.call('HSET', K.meta, 'draw_generation', generation, 'draw_part', '0', 'draw_done', '0')
end
if M.opened == '1' or M.draw_generation ~= generation or tonumber(M.draw_part) < part then
  return {'stale', int(seq), M.epoch or '0'}
end

-- A call takes about 8,000 arguments at most.
local AT_ONCE = 1000
local first = 5
while A(first) do
  local scored = {}
  for i = first, first + AT_ONCE - 1 do
    if not A(i) then break end
    scored[#scored + 1] = int(rank)
    scored[#scored + 1] = A(i)
    rank = rank + 1
  end
  redis.call('ZADD', K.queue, 'XX', unpack(scored))
  first = first + AT_ONCE
end
redis.call('HSET', K.meta, 'draw_part', int(part + 1), 'draw_done', A(3))
return commit(DONE)
