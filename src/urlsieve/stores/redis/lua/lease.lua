-- 4 how many at most, 5 for how long, 6 chance of the pop: 8 bytes, 7 "1" if only the groups that follow, 8 id of the call, 9 "1" if it
-- may have been done already, 10 for how long its answer is kept (ms), then groups.
-- head, stamp of the tokens, deadline, leases that had expired, names (hash and name of each site and group), then per row: row, body.
local MOVED, FAIR_TURN = 1000, 20
local ROW = '<dBdIId'
local limit, ttl, chance, named = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1'

local rows, fps, stamp, deadline = {}, {}, nil, now + ttl

-- Names of what the rows speak of, and the answer
local function answer(expired)
  local names, halves, told = {}, {}, {}
  for _, fp in ipairs(fps) do halves[#halves + 1] = sub(fp, 1, 8) end
  load_sites(halves)
  for i, half in ipairs(halves) do
    if not told[half] then
      told[half] = true
      names[#names + 1] = half
      names[#names + 1] = S[half] and S[half].name or ''
    end
    local _, _, _, grp = su(BODY, rows[2 * i])
    if not told[grp] then
      told[grp] = true
      names[#names + 1] = grp
      names[#names + 1] = group(grp).name
    end
  end
  return {head(), stamp or '', sp('<d', deadline - shift), expired, names, rows}
end
local function row(s, body)
  rows[#rows + 1] = sp(ROW, s.id, s.class, s.priority, s.attempt, s.excused, s.failed and s.failed - shift or NONE)
  rows[#rows + 1] = body
  fps[#fps + 1] = s.fp
end

-- Its answer was lost: what it gave is still there, so it is given to the same worker.
if ARGV[9] == '1' then
  local before, ids = call('GET', P .. 'a' .. ARGV[8]), {}
  if before then
    for i = 1, #before, 8 do ids[#ids + 1] = text((su('<d', before, i))) end
    local raws, bodies = hmget(P .. 's', ids), hmget(P .. 'e', ids)
    for i, id in ipairs(ids) do
      local s = raws[i] and spot_of(tonumber(id), raws[i])
      if s and s.state == LEASED and sub(s.tail, 17) == chance and bodies[i] then
        stamp, deadline = s.tail, s.time
        row(s, bodies[i])
      end
    end
    return answer(0)
  end
end

-- tidy: what time alone changes, at most so many of each -------------------------------------------------------------------------------
local begun = false
local function start()
  if not begun then begun = true; begin(true) end
end

local function until_now(key, time)
  local ids = call('ZRANGEBYSCORE', P .. key, '-inf', string.format('%.17g', time), 'LIMIT', 0, MOVED)
  for i, m in ipairs(ids) do ids[i] = text(id_in(m)) end
  return ids
end
local function each(ids, act)
  if #ids == 0 then return end
  start()
  local spots, groups = spots_of(ids), {}
  for _, id in ipairs(ids) do groups[#groups + 1] = spots[id].grp end
  load_groups(groups)
  for _, id in ipairs(ids) do act(spots[id]) end
end

each(until_now('due', now), function(s) -- they arrive now, in the order in which they are due
  leave(s)
  s.state, s.seq, s.since, s.time, s.tail = PENDING, take('entry'), now, nil, ''
  enter(s)
end)
local expired = until_now('exp', now)
each(expired, function(s)
  leave(s)
  local state, class, attempt, due = expire(s.class, s.attempt, s.again, policy.max_attempts, now)
  if s.again then s.excused, s.failed = 0, nil end
  s.state, s.class, s.attempt, s.again, s.time, s.tail = state, class, attempt, nil, due, ''
  if state == DEAD then s.time, s.tail = now, 'lease expired' end
  enter(s)
end)
each(until_now('bury', now - policy.dead_kept), function(s) -- only fingerprint and count are left
  call('ZREM', P .. 'bury', member(s))
  call('HDEL', P .. 's', text(s.id))
  call('HDEL', P .. 'e', text(s.id))
  mark(s.fp, '-2')
end)
do
  local woken = call('ZRANGEBYSCORE', P .. 'wake', '-inf', string.format('%.17g', now), 'LIMIT', 0, MOVED)
  if n.relook < ALL_LOOKED then
    start()
    if n.relook >= 1 or wake_sleepers() then
      local held = call('ZRANGEBYSCORE', P .. 'held', '(' .. text(math.floor(n.relook)), '+inf', 'WITHSCORES', 'LIMIT', 0, MOVED)
      for i = 1, #held, 2 do woken[#woken + 1] = held[i] end
      n.relook = #held > 0 and tonumber(held[#held]) or ALL_LOOKED
    end
    changed = true
  end
  if #woken > 0 then start() end
  load_groups(woken)
  for _, id in ipairs(woken) do touch(group(id)) end
end
if begun then finish() end

-- turns --------------------------------------------------------------------------------------------------------------------------------
local function top_and_count(g, class, most)
  return call('ZRANGE', queue_of(class, g.id), 0, most - 1, 'WITHSCORES')
end

-- The first of another URL than the one that failed, in the order of the classes' shares
local function probe(g, waiting)
  local first = next_class(g.served, policy.order, waiting)
  local order = {first}
  for class = 0, 2 do
    if waiting[class + 1] and class ~= first then order[#order + 1] = class end
  end
  for _, class in ipairs(order) do
    local two = top_and_count(g, class, 2)
    for i = 1, #two, 2 do
      local id = text(id_in(two[i]))
      if spots_of({id})[id].fp ~= g.failed_url then return {{class, two[i], -tonumber(two[i + 1])}} end
    end
  end
end

-- By class share, priority, arrival; after the first only while no other group has a higher priority waiting.
local function pick(g, most, least, waiting)
  local lines, at, working = {}, {0, 0, 0}, {}
  for class = 0, 2 do
    if waiting[class + 1] then
      lines[class + 1] = top_and_count(g, class, most)
      working[#working + 1] = class
    end
  end
  local found = {}
  while #found < most do
    local class, served = working[1], nil
    if #working > 1 then
      local has = {}
      for one = 1, 3 do has[one] = lines[one] ~= nil and at[one] < #lines[one] end
      if not (has[1] or has[2] or has[3]) then break end
      class, served = next_class(g.served, policy.order, has)
    end
    local line, where = lines[class + 1], at[class + 1]
    if where >= #line then break end
    local priority = -tonumber(line[where + 2])
    if #found > 0 and least and priority < least then break end
    found[#found + 1] = {class, line[where + 1], priority}
    at[class + 1] = where + 2
    if served then g.served = served end
  end
  return found
end

-- From the order into the leased ones
local function give(g, picked)
  if not stamp then stamp = sp('<dd', n.epoch, take('token')) .. chance end
  local ids, removed, leases = {}, {[0] = {}, {}, {}}, {}
  for i, one in ipairs(picked) do
    local class, m = one[1], one[2]
    ids[i] = text(id_in(m))
    local list = removed[class]
    list[#list + 1] = m
    leases[2 * i - 1], leases[2 * i] = string.format('%.17g', deadline), m
    g.heads[class + 1] = true
  end
  local raws, bodies = hmget(P .. 's', ids), hmget(P .. 'e', ids)
  for i, id in ipairs(ids) do
    if not bodies[i] then error('URLSIEVE broken: no text of entry ' .. id) end
    local s = spot_of(tonumber(id), raws[i], bodies[i])
    s.state, s.attempt, s.time, s.tail = LEASED, s.attempt + 1, deadline, stamp
    keep(s)
    add('pending', -1)
    add(CLASS[s.class], -1)
    row(s, bodies[i])
  end
  add('leased', #ids)
  for class = 0, 2 do
    if #removed[class] > 0 then spread('ZREM', queue_of(class, g.id), removed[class]) end
  end
  spread('ZADD', P .. 'exp', leases)
  return #ids
end

-- One turn of one group, if it is its turn after all.
local function serve(g, most, least)
  local spot, _, room = placed(g)
  touch(g)
  if spot ~= READY then return end
  if room then most = math.min(most, room) end
  local waiting = {g.tops[1] ~= nil, g.tops[2] ~= nil, g.tops[3] ~= nil}
  local picked = half_open(g) and probe(g, waiting) or pick(g, half_open(g) and 1 or most, least, waiting)
  if #picked == 0 then error('URLSIEVE broken: nothing is pending in group ' .. g.name .. ' though its record says so') end
  g.leased = g.leased + give(g, picked)
  local delay = delay_of(g)
  if delay > 0 then g.turn = math.max(g.turn, now + delay) end
  g.since = take('ticket')
  add('turn', 1)
end

-- Heads and place of one group, at once: the next turn is decided by them. Records are written by the last `finish`.
local function settle_place(g)
  for class = 1, 3 do
    if g.heads[class] then
      local first = call('ZRANGE', queue_of(class - 1, g.id), 0, 0, 'WITHSCORES')
      g.tops[class] = first[2] and -tonumber(first[2]) or nil
      g.heads[class] = nil
    end
  end
  put(g)
end
local function is_fair_turn() return n.turn % FAIR_TURN == FAIR_TURN - 1 end

local function by_turn()
  while #rows / 2 < limit do
    local two = call('ZRANGE', P .. 'ready', 0, 1, 'WITHSCORES')
    if #two == 0 then return end
    local id, most, least = sub(two[1], 9), limit - #rows / 2, two[4] and -tonumber(two[4]) or nil
    if #two > 2 and is_fair_turn() then
      local longest = call('ZRANGE', P .. 'line', 0, 0)[1]
      if longest ~= id then id, most, least = longest, 1, nil end
    end
    local g = group(id)
    start()
    serve(g, most, least)
    settle_place(g)
  end
end

-- Only these groups; order, concurrency, delay and block hold here too.
local function by_name(ids)
  load_groups(ids)
  local open = {}
  for _, id in ipairs(ids) do
    local g = group(id)
    if g and top_of(g) then open[#open + 1] = g end
  end
  local function sooner(a, b)
    local one, other = top_of(a), top_of(b)
    if one ~= other then return one > other end
    return a.since < b.since
  end
  while #rows / 2 < limit and #open > 0 do
    table.sort(open, sooner)
    local at, most, least = 1, limit - #rows / 2, open[2] and top_of(open[2]) or nil
    if #open > 1 and is_fair_turn() then
      local longest = 1
      for i = 2, #open do
        if open[i].since < open[longest].since then longest = i end
      end
      if longest ~= 1 then at, most, least = longest, 1, nil end
    end
    local g = open[at]
    start()
    serve(g, most, least)
    settle_place(g)
    if g.place ~= READY then table.remove(open, at) end
  end
end

if named then
  local ids = {}
  for i = 11, #ARGV do ids[#ids + 1] = ARGV[i] end
  by_name(ids)
else
  by_turn()
end
if begun then finish() end
if #rows > 0 then
  local given = {}
  for i = 1, #rows, 2 do given[#given + 1] = sub(rows[i], 1, 8) end
  call('SET', P .. 'a' .. ARGV[8], table.concat(given), 'PX', ARGV[10])
end
return answer(#expired)
