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
--   P x<reason>  list: the newest examples of what P t counts, the newest first
--   P y          text: what fetched pages told, see witness.lua
--   P d, P D<domain>, P c   see domains.lua; P u, P z, P Z, P v, P V   see budgets.lua
--   P t          hash: rejected and skipped by reason; P a<call>  the answer to one settle, for a while
--   P w          number of the last sweep (lua/sweep.lua) that the shard is done with
-- Arguments of every script: 1 caller's time, 2 "1" if that is the time to go by, 3 context (pack.CONTEXT, then pack.policy), then its own.
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
  'pending.new', 'pending.retry', 'pending.revisit', 'sites', 'groups', 'generation', 'writes', 'pgen', 'rgen', 'epoch', 'relook', 'job'}
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
local pgen, rgen, epoch, job, at = su('<dddd', ARGV[3])
if n.job ~= 0 and n.job ~= job then -- emptied, and made anew with another secret: what this caller has are fingerprints of the old one
  return redis.error_reply('URLSIEVE gone')
end
if pgen > n.pgen then
  add('pgen', pgen - n.pgen)
  policy_text = sub(ARGV[3], at)
  n.relook = 0 -- who was held out may be let in
end
local rules_changed = rgen > n.rgen
if rules_changed then
  add('rgen', rgen - n.rgen)
  n.relook = 0 -- who sleeps for a spent budget may wake
end
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
  if always then
    call('DEL', P .. '-')
  else -- changes nothing, but is refused when the memory is full: else a ZREM that comes first would let in all that follows
    call('SETRANGE', KEYS[1], 0, '')
  end
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
  if n.relook < ALL_LOOKED and not top and (call('ZCARD', P .. 'held') > 0 or call('EXISTS', P .. 'z', P .. 'Z', P .. 'v', P .. 'V') > 0) then wake = 0 end
  local died = first_score('bury')
  return sp('<ddddddddd', shift, n.pgen, n.rgen, n.epoch, orNone(top and -top), orNone(wake), call('ZCARD', P .. 'ready'), n.pending,
    orNone(died and died + policy.dead_kept))
end
