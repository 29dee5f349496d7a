-- Channels, as core/src/channels.rs: stock that is set aside for those who may use one.
--
--   channels_open()   a table of what follows. Made where a channel is concerned and nowhere else:
--                     each function costs its making
--     get(id)                     the channel, or nil
--     home(id)                    where its units are now: an id, or '' for everybody's stock
--     letter(id)                  the sign of its free seats in K.segments_free
--     unreleased(id)              the refusal of one that is not there, or was released; nil for ''
--     may_use(names)              those of these channels (ids, with commas between them) that have
--                                 stock of their own, as { channel, left }; and the refusal
--     signs(usable)               the signs of seats that are free for who may use these
--     free_seats(id, categories)  how many seats of these categories (by index) are free in a channel,
--                                 with those that the plan keeps for somebody
--     is_over(usable, seats)      whether more of these are in one of them than may be left through it
--     sources(usable, lines, stock)  where lines come from, pools' and then seats': '' is everybody's
--                                 stock; and the refusal. What may be left through each goes down
--     sources_again(hold, lines, stock)  the same for what a booking had, and may have again
--     check_again(hold, lines, stock)    the refusal of what it may not have again, or nil
--     check_free(id, lines, stock)  the refusal of units that are not free in one channel, or nil
--     move(lines, stock, from, to)  moves each line's free units: both as sources are
--     bring_out(hold, lines, stock, from)  makes what a hold takes from these sources everybody's, to
--                                 be taken at once, and counts it as taken
--     give_back(hold, lines, stock)  gives what a hold gave back to the channels it came from
--     release(id, into, reason)   gives all its stock to another, with the change; reason is JSON, or
--                                 nil for what was due. Writes all of it
--     planned_release(id)         what ticks do
--     write()                     writes which units are where, after stock_write
--   sources_text(sources)         as bookings keep it: '' if all are everybody's
--   sources_of(hold)              the same read
--
-- A channel: { id, index, taken, state, at, into, spec }: state is open or released, at and into when
-- and where it was released, spec what it is as JSON. Free units of a pool in a channel are counted in
-- K.blocked by pool@channel, a category's seats by @category@channel: in their counts they are
-- blocked. A seat's state is A there, and `of` the channel.

--#include begin
--#include change
--#include lines

local function sources_text(sources)
  local text = table.concat(sources, ',')
  return string.find(text, '[^,]') and text or ''
end

local function sources_of(hold)
  local sources = {}
  if hold.sources ~= '' then
    for source in string.gmatch(hold.sources .. ',', '([^,]*),') do
      sources[#sources + 1] = source
    end
  end
  return sources
end

local function channels_open()
  local channels, all, deltas, changed = {}, nil, {}, {}

  function channels.get(id)
    if not all then
      all = {}
      local flat = redis.call('HGETALL', K.channels)
      for i = 1, #flat, 2 do
        all[flat[i]] = read_channel(flat[i], flat[i + 1])
      end
    end
    return all[id]
  end

  function channels.home(id)
    while id ~= '' and channels.get(id).state == 'released' do
      id = channels.get(id).into
    end
    return id
  end

  function channels.letter(id)
    return segment_letter(channels.get(id))
  end

  function channels.unreleased(id)
    if id == '' then
      return nil
    end
    local channel = channels.get(id)
    if not channel then
      return no('CHANNEL_NOT_FOUND', '"channel":"' .. id .. '"')
    elseif channel.state == 'released' then
      return no('CHANNEL_RELEASED', '"channel":"' .. id .. '"')
    end
  end

  local function quota_of(channel)
    return tonumber(string.match(channel.spec, '"quota":(%d+)'))
  end

  local function quota_exceeded(channel)
    return no('CHANNEL_QUOTA', '"channel":"' .. channel.id .. '","quota":' .. int(quota_of(channel))
      .. ',"taken":' .. int(channel.taken))
  end

  function channels.may_use(names)
    local usable, is_named = {}, {}
    for id in string.gmatch(names, '[^,]+') do
      local channel = channels.get(id)
      if not channel then
        return usable, no('CHANNEL_NOT_FOUND', '"channel":"' .. id .. '"')
      end
      if channel.state ~= 'released' and not is_named[id] then
        local quota = quota_of(channel)
        local left = quota and math.max(quota - channel.taken, 0) or math.huge
        usable[#usable + 1] = {channel = channel, left = left}
      end
      is_named[id] = true
    end
    return usable
  end

  function channels.signs(usable)
    local signs = {['1'] = true}
    for _, it in ipairs(usable) do
      signs[channels.letter(it.channel.id)] = true
    end
    return signs
  end

  function channels.free_seats(id, categories)
    local keys, free = {}, 0
    for index in pairs(categories) do
      keys[#keys + 1] = '@' .. int(index) .. '@' .. id
    end
    for _, units in ipairs(keys[1] and redis.call('HMGET', K.blocked, unpack(keys)) or {}) do
      free = free + tonumber(units or 0)
    end
    return free
  end

  -- Whether more of these seats are in a channel than may be left through it.
  function channels.is_over(usable, seats)
    for _, it in ipairs(usable) do
      local of_channel = 0
      for _, seat in ipairs(seats) do
        of_channel = of_channel + (seat.state == 'A' and seat.of == it.channel.id and 1 or 0)
      end
      if of_channel > it.left then
        return true
      end
    end
    return false
  end

  local function free_in(pool, id)
    if id == '' then
      return pool_free(pool)
    end
    return tonumber(redis.call('HGET', K.blocked, pool.id .. '@' .. id) or 0)
  end

  local function insufficient(pool, free)
    return no('INSUFFICIENT_STOCK', '"pool":"' .. pool.id .. '","free":' .. int(free))
  end

  local function unavailable(seats)
    if seats[1] then
      return no('SEAT_UNAVAILABLE', '"seats":[' .. table.concat(seats, ',') .. ']')
    end
  end

  function channels.sources(usable, lines, stock)
    local sources = {}
    for i, pool in ipairs(stock.pools) do
      local units, most, source = lines.quantities[i], pool_free(pool), nil
      for _, it in ipairs(usable) do
        local free = math.min(free_in(pool, it.channel.id), it.left)
        most = math.max(most, free)
        if not source and free >= units then
          source, it.left = it.channel.id, it.left - units
        end
      end
      if not source and pool_free(pool) < units then
        return sources, insufficient(pool, most)
      end
      sources[#sources + 1] = source or ''
    end
    local through, elsewhere = {}, {}
    for _, it in ipairs(usable) do
      through[it.channel.id] = 0
    end
    for _, seat in ipairs(stock.seats) do
      if seat.state == 'A' and through[seat.of] then
        through[seat.of] = through[seat.of] + 1
        sources[#sources + 1] = seat.of
      elseif seat.state == 'F' then
        sources[#sources + 1] = ''
      else
        elsewhere[#elsewhere + 1] = str(seat.id)
      end
    end
    local refusal = unavailable(elsewhere)
    for _, it in ipairs(usable) do
      it.left = it.left - through[it.channel.id]
      if it.left < 0 and not refusal then
        refusal = quota_exceeded(it.channel)
      end
    end
    return sources, refusal
  end

  function channels.sources_again(hold, lines, stock)
    local again = {}
    for i, source in ipairs(sources_of(hold)) do
      local home, pool = channels.home(source), stock.pools[i]
      local seat = not pool and stock.seats[i - #stock.pools]
      local is_there = pool and free_in(pool, home) >= lines.quantities[i]
        or seat and seat.state == 'A' and seat.of == home
      again[i] = is_there and home or ''
    end
    return again
  end

  -- The refusal where more units are taken through a channel again than may still be.
  local function over_quota(again, lines, stock)
    local through = {}
    for i, id in ipairs(again) do
      if id ~= '' then
        local channel = channels.get(id)
        local quota = quota_of(channel)
        through[id] = (through[id] or 0) + (stock.pools[i] and lines.quantities[i] or 1)
        if quota and through[id] > math.max(quota - channel.taken, 0) then
          return quota_exceeded(channel)
        end
      end
    end
  end

  function channels.check_again(hold, lines, stock)
    local again, gone = channels.sources_again(hold, lines, stock), {}
    for i, pool in ipairs(stock.pools) do
      local free = free_in(pool, again[i])
      if free < lines.quantities[i] then
        return insufficient(pool, free)
      end
    end
    for i, seat in ipairs(stock.seats) do
      if again[#stock.pools + i] == '' and seat.state ~= 'F' then
        gone[#gone + 1] = str(seat.id)
      end
    end
    return unavailable(gone) or over_quota(again, lines, stock)
  end

  -- The refusal of units that are not free in one channel, or nil.
  function channels.check_free(id, lines, stock)
    local elsewhere = {}
    for i, pool in ipairs(stock.pools) do
      local free = free_in(pool, id)
      if free < lines.quantities[i] then
        return insufficient(pool, free)
      end
    end
    for _, seat in ipairs(stock.seats) do
      local is_there = id == '' and seat.state == 'F' or seat.state == 'A' and seat.of == id
      if not is_there then
        elsewhere[#elsewhere + 1] = str(seat.id)
      end
    end
    return unavailable(elsewhere)
  end

  local function add(key, more)
    deltas[key] = (deltas[key] or 0) + more
  end

  function channels.move(lines, stock, from, to)
    for i, pool in ipairs(stock.pools) do
      local units, before, after = lines.quantities[i], from[i], to[i]
      if before ~= '' then
        pool.blocked = pool.blocked - units
        add(pool.id .. '@' .. before, -units)
      end
      if after ~= '' then
        pool.blocked = pool.blocked + units
        add(pool.id .. '@' .. after, units)
      end
    end
    for i, seat in ipairs(stock.seats) do
      local before, after = from[#stock.pools + i], to[#stock.pools + i]
      local category = '@' .. int(seat.category) .. '@'
      if before ~= after then
        if before ~= '' then
          add(category .. before, -1)
        end
        if after ~= '' then
          add(category .. after, 1)
          seat.sign = channels.letter(after)
        end
        seat_set(seat, stock.categories, after == '' and 'F' or 'A', after)
      end
    end
  end

  local function everybodys(sources)
    local all_of_them = {}
    for i = 1, #sources do
      all_of_them[i] = ''
    end
    return all_of_them
  end

  -- Counts what a hold takes (1) or gives back (-1).
  local function count(hold, lines, sign)
    for i, source in ipairs(sources_of(hold)) do
      local home = channels.home(source)
      if home ~= '' then
        local channel = channels.get(home)
        channel.taken = channel.taken + sign * (lines.quantities[i] or 1)
        changed[home] = channel
      end
    end
  end

  function channels.bring_out(hold, lines, stock, from)
    channels.move(lines, stock, from, everybodys(from))
    count(hold, lines, 1)
  end

  function channels.give_back(hold, lines, stock)
    local homes = {}
    for i, source in ipairs(sources_of(hold)) do
      homes[i] = channels.home(source)
    end
    channels.move(lines, stock, everybodys(homes), homes)
    count(hold, lines, -1)
  end

  function channels.write()
    for key, more in pairs(deltas) do
      -- Not HINCRBY: what a write answers is not known where writes are told (told.lua).
      local units = tonumber(redis.call('HGET', K.blocked, key) or 0) + more
      if units == 0 then
        redis.call('HDEL', K.blocked, key)
      else
        redis.call('HSET', K.blocked, key, int(units))
      end
    end
    for id, channel in pairs(changed) do
      redis.call('HSET', K.channels, id, channel_text(channel, channel.spec))
    end
    deltas, changed = {}, {}
  end

  -- Moves these pools' units, in one call for so many: Lua's stack takes no more than 8,000 values.
  local function move_all(lines, from, to)
    local sources, targets = {}, {}
    for i = 1, #lines.pools + #lines.seats do
      sources[i], targets[i] = from, to
    end
    local stock = stock_read(lines)
    channels.move(lines, stock, sources, targets)
    stock_write(stock)
    channels.write()
  end

  function channels.release(id, into, reason)
    change('{"channel_released":{"channel":"' .. id .. '"'
      .. (into == '' and '' or ',"into":"' .. into .. '"')
      .. (reason and ',"reason":' .. reason or '') .. '}}')
    local lines = {pools = {}, quantities = {}, seats = {}}
    local function add_line(pool, units, seat)
      lines.pools[#lines.pools + 1], lines.quantities[#lines.quantities + 1] = pool, units
      lines.seats[#lines.seats + 1] = seat
      if #lines.pools + #lines.seats >= 2000 then
        move_all(lines, id, into)
        lines = {pools = {}, quantities = {}, seats = {}}
      end
    end
    local blocked = redis.call('HGETALL', K.blocked)
    for i = 1, #blocked, 2 do
      local pool, channel = string.match(blocked[i], '^([^@:]+)@(.*)$')
      if channel == id then
        add_line(pool, tonumber(blocked[i + 1]), nil)
      end
    end
    -- In the order of their positions: those of one segment are moved together (segments_follow).
    local seats, suffix, positions, id_at = redis.call('HGETALL', K.seats), ' A ' .. id, {}, {}
    for i = 1, #seats, 2 do
      if string.sub(seats[i + 1], -#suffix) == suffix then
        local seat = read_seat(seats[i], seats[i + 1])
        if seat.of == id then
          positions[#positions + 1], id_at[seat.index] = seat.index, seat.id
        end
      end
    end
    table.sort(positions)
    for _, position in ipairs(positions) do
      add_line(nil, nil, id_at[position])
    end
    move_all(lines, id, into)
    local channel = channels.get(id)
    local home, taken = into == '' and nil or channels.get(into), channel.taken
    channel.state, channel.at, channel.into, channel.taken = 'released', now, into, 0
    changed[id] = channel
    if home then
      home.taken = home.taken + taken
      changed[into] = home
    end
    channels.write()
    redis.call('ZREM', K.deadlines, '9:' .. id)
  end

  function channels.planned_release(id)
    local into = string.match(channels.get(id).spec, '"release":{[^}]*"into":"([^"]*)"') or ''
    local home = channels.home(into)
    channels.release(id, home == id and '' or home)
  end

  return channels
end
