-- Groups of the shard: their records, their heads, and the indexes that say whose turn it is.

local GROUP, TOPS_AT = '<BdddlddddIBdIIBc16BIdd', 34
local G, dirty = {}, {} -- false: no such group; text: its record, read when it is needed; else as `group_of` makes it

local function group_of(id, raw)
  local g = {id = id, tops = {}, heads = {}}
  local t0, t1, t2, paused, delay, concurrency, since0, several, has, url, name
  paused, delay, concurrency, g.turn, g.leased, t0, t1, t2, g.since, g.served, g.place, g.wake, g.version, g.failures, has, url,
    several, g.blocks, g.blocked, g.ok, name = su(GROUP, raw)
  g.paused, g.delay, g.concurrency = paused == 1, some(delay), some(concurrency)
  g.tops[1], g.tops[2], g.tops[3] = some(t0), some(t1), some(t2)
  g.failed_url, g.several = has == 1 and url or '', several == 1
  g.name = sub(raw, name)
  g.was = {place = g.place, since = g.since, top = nil, wake = g.wake}
  return g
end
local function top_of(g)
  local top
  for class = 1, 3 do
    local one = g.tops[class]
    if one and (not top or one > top) then top = one end
  end
  return top
end
local function load_groups(ids)
  local missing = {}
  for _, id in ipairs(ids) do
    if G[id] == nil then missing[#missing + 1] = id; G[id] = false end
  end
  for i, raw in ipairs(hmget(P .. 'g', missing)) do
    if raw then G[missing[i]] = raw end
  end
end
local function group(id)
  if G[id] == nil then load_groups({id}) end
  local g = G[id]
  if type(g) == 'string' then
    g = group_of(id, g)
    g.was.top = top_of(g)
    G[id] = g
  end
  return g
end
-- Its highest waiting priority of a class, without reading the rest; nil: none
local function head_of(id, class)
  local g = G[id]
  if type(g) == 'string' then return some((su('<d', g, TOPS_AT + 8 * class))) end
  return g.tops[class + 1]
end
local function touch(g)
  if not g.touched then g.touched = true; dirty[#dirty + 1] = g end
end
local function ensure(id, name)
  if G[id] == nil then load_groups({id}) end
  local g = G[id]
  if not g then
    g = {id = id, name = name, paused = false, turn = 0, leased = 0, tops = {}, heads = {}, since = 0, served = 0, place = IDLE, wake = 0,
      version = 0, failures = 0, failed_url = '', several = false, blocks = 0, blocked = 0, ok = 0,
      was = {place = IDLE, since = 0, wake = 0}}
    G[id] = g
    add('groups', 1)
    touch(g)
  end
end
local function packed(g)
  return sp(GROUP, g.paused and 1 or 0, orNone(g.delay), orNone(g.concurrency), g.turn, g.leased, orNone(g.tops[1]), orNone(g.tops[2]),
    orNone(g.tops[3]), g.since, g.served, g.place, g.wake, g.version, g.failures, g.failed_url ~= '' and 1 or 0,
    g.failed_url ~= '' and g.failed_url or string.rep('\0', 16), g.several and 1 or 0, g.blocks, g.blocked, g.ok) .. g.name
end
local function delay_of(g) return g.delay or policy.delay end
local function half_open(g) return g.blocks > 0 and g.blocked <= now end
local function placed(g)
  return place(top_of(g) ~= nil, g.paused, g.turn, g.blocked, half_open(g), g.leased, g.concurrency or policy.concurrency, delay_of(g), now)
end
local function standing(since, id) return sp('>L', since) .. id end

-- To the place where it belongs now, in the indexes; the record is written by `finish`.
local function put(g)
  local spot, wake = placed(g)
  local was, top = g.was, top_of(g)
  if g.place == IDLE and spot ~= IDLE then g.since = take('ticket') end
  g.place, g.wake = spot, wake or 0
  if was.place == READY and (spot ~= READY or was.since ~= g.since) then
    call('ZREM', P .. 'ready', standing(was.since, g.id))
    if spot ~= READY then call('ZREM', P .. 'line', g.id) end
  elseif was.place == WAITING and spot ~= WAITING then
    call('ZREM', P .. 'wake', g.id)
  elseif was.place == HELD and spot ~= HELD then
    call('ZREM', P .. 'held', g.id)
  end
  if spot == READY then
    local entered = was.place ~= READY or was.since ~= g.since
    if entered or was.top ~= top then call('ZADD', P .. 'ready', -top, standing(g.since, g.id)) end
    if entered then call('ZADD', P .. 'line', g.since, g.id) end
  elseif spot == WAITING then
    if was.place ~= WAITING or was.wake ~= g.wake then call('ZADD', P .. 'wake', g.wake, g.id) end
  elseif spot == HELD then
    if was.place ~= HELD or was.since ~= g.since then call('ZADD', P .. 'held', g.since, g.id) end
  end
  was.place, was.since, was.top, was.wake = spot, g.since, top, g.wake
end
