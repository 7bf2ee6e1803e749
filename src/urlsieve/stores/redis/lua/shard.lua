-- One shard, as every script of it sees it. What stands where (P is "urlsieve:{job:sN}:"):
--   P n          text: counters, epoch and generations (NAMES), then the shard's copy of the policy
--   P f<site>    hash: URL half of a fingerprint -> mark: > 0 id of an entry; 0 done, -1 known, -2 dead, without text; -10 - id done, with it
--   P i          hash: site half -> limit, how many are only known, name; how many it has accepted: HLEN of P f<site> less these
--   P e          hash: id -> what was pushed; P s  hash: id -> where it is (absent: pending as it came)
--   P g          hash: group -> settings, turn, health, place
--   P q<class><group>  zset: pending, by -priority, then arrival
--   P due, P exp, P bury   zsets: delayed by due, leased by deadline, dead by when they died
--   P ready      zset: groups whose turn it is by -priority, then waiting since; P line  the same by since alone
--   P wake       zset: groups that wait, by when; P held  those held out, by since
--   P t          hash: rejected and skipped by reason; P a<call>  the answer to one settle, for a while
-- Arguments of every script: 1 caller's time, 2 "1" if that is the time to go by, 3 context (see pack.context), then its own.
-- Nothing is written before everything was read that can be wrong: a script that fails half-way keeps its first half.

local call, su, sp, sub = redis.call, struct.unpack, struct.pack, string.sub
local P = sub(KEYS[1], 1, -2)
local NONE = 0 / 0
local function some(x) if x == x then return x end end
local function orNone(x) return x or NONE end
local function text(id) return string.format('%.0f', id) end

local now, shift = tonumber(ARGV[1]), 0
if ARGV[2] ~= '1' then
  local t = call('TIME')
  local server = tonumber(t[1]) + tonumber(t[2]) / 1e6
  shift = server - now
  now = server
end

-- counters -----------------------------------------------------------------------------------------------------------------------

local NAMES = {'entry', 'ticket', 'token', 'turn', 'accepted', 'known', 'seen', 'pending', 'leased', 'delayed', 'done', 'dead',
  'pending.new', 'pending.retry', 'pending.revisit', 'sites', 'groups', 'generation', 'writes', 'pgen', 'rgen', 'epoch', 'relook'}
local CLASS = {[0] = 'pending.new', 'pending.retry', 'pending.revisit'}
local STATE = {[0] = 'pending', 'leased', 'delayed', 'done', 'dead'}
local ALL_LOOKED = 2 ^ 53 -- relook: held groups up to this place in their line were looked at since the policy changed
local COUNTERS, SIZE = '<' .. string.rep('d', #NAMES), 8 * #NAMES
local n, changed, policy_text = {}, false, nil
do
  local raw = call('GET', KEYS[1])
  if not raw then return redis.error_reply('URLSIEVE gone') end
  if #raw < SIZE then return redis.error_reply('URLSIEVE broken: the counters of a shard have another type than ours') end
  local have = {su(COUNTERS, raw)}
  for i, name in ipairs(NAMES) do n[name] = have[i] end
  policy_text = sub(raw, SIZE + 1)
end
local function add(name, by)
  n[name] = n[name] + by
  changed = true
end
local function take(name)
  n[name] = n[name] + 1
  changed = true
  return n[name]
end

-- The newest policy, rules generation and epoch that anybody brought here hold.
local pgen, rgen, epoch, at = su('<ddd', ARGV[3])
if pgen > n.pgen then
  add('pgen', pgen - n.pgen)
  policy_text = sub(ARGV[3], at)
  n.relook = 0 -- who was held out may be let in
end
if rgen > n.rgen then add('rgen', rgen - n.rgen) end
if epoch > n.epoch then add('epoch', epoch - n.epoch) end
local policy = {}
do
  local delay, concurrency, attempts, mark, dead_kept, keep, order = su('<dddddB', policy_text)
  policy = {delay = delay, concurrency = some(concurrency), max_attempts = attempts, high_water = some(mark), dead_kept = dead_kept,
    keep_urls = keep == 1, order = sub(policy_text, order)}
end

-- A script writes only after this. `always`: also when the server's memory is full (a script that has written may go on). A key of
-- another type would stop it half-way, so the types are looked at first.
local HASHES = {P .. 'e', P .. 's', P .. 'g', P .. 'i', P .. 't'}
local ZSETS = {P .. 'ready', P .. 'line', P .. 'wake', P .. 'held', P .. 'due', P .. 'exp', P .. 'bury'}
local function begin(always)
  for i = 1, 5 do call('HLEN', HASHES[i]) end
  for i = 1, 7 do call('ZCARD', ZSETS[i]) end
  if always then call('DEL', P .. '-') end
  add('writes', 1)
end

-- HMGET, HSET and ZADD of many, in strokes that fit on Lua's stack
local function hmget(key, fields)
  local found = {}
  for from = 1, #fields, 1000 do
    local part = call('HMGET', key, unpack(fields, from, math.min(from + 999, #fields)))
    for i = 1, #part do found[from + i - 1] = part[i] end
  end
  return found
end
local function spread(command, key, values)
  for from = 1, #values, 2000 do call(command, key, unpack(values, from, math.min(from + 1999, #values))) end
end

-- groups -------------------------------------------------------------------------------------------------------------------------

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

-- entries ------------------------------------------------------------------------------------------------------------------------

local BODY, SPOT = '<Bdc16c8dddB', '<BBc8c16dLdIIddd'

-- Where the one with this id is; raw: of P s; body: of P e, needed where raw is false
local function spot_of(id, raw, body)
  local s = {id = id, tail = ''}
  local _
  if raw then
    local failed, time, again, at
    s.state, s.class, s.grp, s.fp, s.priority, s.seq, s.since, s.attempt, s.excused, failed, time, again, at = su(SPOT, raw)
    s.failed, s.time, s.again, s.tail = some(failed), some(time), some(again), sub(raw, at)
  else
    s.state, s.class, s.attempt, s.excused, s.seq = PENDING, NEW, 0, 0, id
    _, s.since, s.fp, s.grp, s.priority = su(BODY, body)
  end
  return s
end
local function spots_of(ids)
  local raws, without, found = hmget(P .. 's', ids), {}, {}
  for i, id in ipairs(ids) do
    if not raws[i] then without[#without + 1] = id end
  end
  local bodies, at = hmget(P .. 'e', without), 0
  for i, id in ipairs(ids) do
    if raws[i] then
      found[id] = spot_of(tonumber(id), raws[i])
    else
      at = at + 1
      if not bodies[at] then error('URLSIEVE broken: no text of entry ' .. id) end
      found[id] = spot_of(tonumber(id), false, bodies[at])
    end
  end
  return found
end
local spot_writes = {}
local function keep(s)
  local w = spot_writes
  w[#w + 1] = text(s.id)
  w[#w + 1] = sp(SPOT, s.state, s.class, s.grp, s.fp, s.priority, s.seq, s.since, s.attempt, s.excused, orNone(s.failed), orNone(s.time),
    orNone(s.again)) .. s.tail
end
local function member(s)
  if s.seq == s.id then return sp('>L', s.seq) end
  return sp('>LL', s.seq, s.id)
end
local function id_in(m)
  if #m == 8 then return (su('>L', m)) end
  local _, id = su('>LL', m)
  return id
end
local function queue_of(class, grp) return P .. 'q' .. class .. grp end

local arriving, arriving_keys = {}, {}
local function queue_up(grp, class, priority, m)
  local key = queue_of(class, grp)
  local list = arriving[key]
  if not list then list = {}; arriving[key] = list; arriving_keys[#arriving_keys + 1] = key end
  list[#list + 1] = -priority
  list[#list + 1] = m
  local top = head_of(grp, class)
  if not top or priority > top then
    local g = group(grp)
    g.tops[class + 1] = priority
    touch(g)
  end
end
local function arrive(s)
  if G[s.grp] == nil then load_groups({s.grp}) end
  queue_up(s.grp, s.class, s.priority, member(s))
  add('pending', 1)
  add(CLASS[s.class], 1)
end
-- Out of wherever it is, uncounted; its records stay. Its group's heads are looked at again.
local function leave(s)
  if s.state == PENDING then
    local g = group(s.grp)
    call('ZREM', queue_of(s.class, s.grp), member(s))
    g.heads[s.class + 1] = true
    touch(g)
    add(CLASS[s.class], -1)
  elseif s.state == LEASED then
    local g = group(s.grp)
    call('ZREM', P .. 'exp', member(s))
    g.leased = g.leased - 1
    touch(g)
  elseif s.state == DELAYED then
    call('ZREM', P .. 'due', member(s))
  elseif s.state == DEAD then
    call('ZREM', P .. 'bury', member(s))
  end
  add(STATE[s.state], -1)
end
-- To where its state says
local function enter(s)
  if s.state == PENDING then
    arrive(s)
  else
    call('ZADD', P .. (s.state == DELAYED and 'due' or s.state == DEAD and 'bury' or 'exp'), s.time, member(s))
    add(STATE[s.state], 1)
  end
  keep(s)
end

-- the seen set and sites -----------------------------------------------------------------------------------------------------------

local marks, mark_sites = {}, {}
local function mark(fp, value)
  local site = sub(fp, 1, 8)
  local list = marks[site]
  if not list then list = {}; marks[site] = list; mark_sites[#mark_sites + 1] = site end
  list[#list + 1] = sub(fp, 9)
  list[#list + 1] = value
end
local function with_text(id) return '-' .. text(id + 10) end -- done, and its text is kept

-- What is known of these fingerprints (in one block): marks as numbers, false where not seen
local function known_of(fps)
  local sites, order, found = {}, {}, {}
  if #fps <= 64 * 16 then -- mostly of different sites: one by one is quicker
    for i = 1, #fps / 16 do
      local value = call('HGET', P .. 'f' .. sub(fps, 16 * i - 15, 16 * i - 8), sub(fps, 16 * i - 7, 16 * i))
      found[i] = value and tonumber(value)
    end
    return found
  end
  for i = 1, #fps / 16 do
    local site = sub(fps, 16 * i - 15, 16 * i - 8)
    local at = sites[site]
    if not at then at = {halves = {}, where = {}}; sites[site] = at; order[#order + 1] = site end
    at.halves[#at.halves + 1] = sub(fps, 16 * i - 7, 16 * i)
    at.where[#at.where + 1] = i
  end
  for _, site in ipairs(order) do
    local at = sites[site]
    for j, value in ipairs(hmget(P .. 'f' .. site, at.halves)) do found[at.where[j]] = value and tonumber(value) end
  end
  return found
end

local SITE = '<dd'
local S, site_order = {}, {}
local function load_sites(halves)
  local missing = {}
  for _, half in ipairs(halves) do
    if S[half] == nil then S[half] = false; missing[#missing + 1] = half end
  end
  for i, raw in ipairs(hmget(P .. 'i', missing)) do
    if raw then
      local limit, known, at = su(SITE, raw)
      S[missing[i]] = {half = missing[i], limit = some(limit), known = known, name = sub(raw, at)}
    end
  end
end
local function site_changed(site)
  if not site.touched then site.touched = true; site_order[#site_order + 1] = site end
end
local function ensure_site(half, name)
  if S[half] == nil then load_sites({half}) end
  local site = S[half]
  if not site then
    site = {half = half, known = 0, name = name}
    S[half] = site
    add('sites', 1)
    site_changed(site)
  end
  return site
end
local function only_known(fp, by)
  local site = S[sub(fp, 1, 8)]
  site.known = site.known + by
  site_changed(site)
end

-- Reasons are the callers' words: beyond 200 of a kind the rest is "other".
local function tally(kind, reason, by)
  local field = kind .. '.' .. reason
  if call('HEXISTS', P .. 't', field) == 0 and call('HINCRBY', P .. 't', '#' .. kind, 0) >= 200 then field = kind .. '.other' end
  if call('HINCRBY', P .. 't', field, by) == by then call('HINCRBY', P .. 't', '#' .. kind, 1) end
end

-- the end --------------------------------------------------------------------------------------------------------------------------

-- Everything that collected is written. May be called more than once.
local function finish()
  for _, site in ipairs(mark_sites) do spread('HSET', P .. 'f' .. site, marks[site]) end
  marks, mark_sites = {}, {}
  if #site_order > 0 then
    local pairs_of = {}
    for i, site in ipairs(site_order) do
      pairs_of[2 * i - 1] = site.half
      pairs_of[2 * i] = sp(SITE, orNone(site.limit), site.known) .. site.name
      site.touched = false
    end
    spread('HSET', P .. 'i', pairs_of)
    site_order = {}
  end
  spread('HSET', P .. 's', spot_writes)
  spot_writes = {}
  for _, key in ipairs(arriving_keys) do spread('ZADD', key, arriving[key]) end
  arriving, arriving_keys = {}, {}
  local records = {}
  for _, g in ipairs(dirty) do
    for class = 1, 3 do
      if g.heads[class] then
        local head = call('ZRANGE', queue_of(class - 1, g.id), 0, 0, 'WITHSCORES')
        g.tops[class] = head[2] and -tonumber(head[2]) or nil
        g.heads[class] = nil
      end
    end
    put(g)
    g.touched = false
    records[#records + 1] = g.id
    records[#records + 1] = packed(g)
  end
  spread('HSET', P .. 'g', records)
  dirty = {}
  if changed then
    local values = {}
    for i, name in ipairs(NAMES) do values[i] = n[name] end
    call('SET', KEYS[1], sp(COUNTERS, unpack(values)) .. policy_text)
    changed = false
  end
end

local function first_score(key)
  local first = call('ZRANGE', P .. key, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2])
end
-- What every answer begins with: how far the shard's clock is ahead of the caller's, what holds here, and what a worker remembers of
-- the shard: highest priority of a group whose turn it is, when time may bring one, how many such groups, how many pending URLs, and
-- when a lease has old dead ones to bury.
local function head()
  local top = first_score('ready')
  local wake
  for _, key in ipairs({'wake', 'due', 'exp'}) do
    local one = first_score(key)
    if one and (not wake or one < wake) then wake = one end
  end
  if n.relook < ALL_LOOKED and not top and call('ZCARD', P .. 'held') > 0 then wake = 0 end
  local died = first_score('bury')
  return sp('<ddddddddd', shift, n.pgen, n.rgen, n.epoch, orNone(top and -top), orNone(wake), call('ZCARD', P .. 'ready'), n.pending,
    orNone(died and died + policy.dead_kept))
end
