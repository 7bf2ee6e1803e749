-- What of sites, domains, job and day is used up here, where the rules have limits (urlsieve.frontier.budget): P u hash: site half -> pages,
-- bytes; "job" -> the same; "day" -> day since the epoch, URLs, pages, bytes. Of domains: domains.lua. P z hash: group that sleeps -> its turn otherwise, why; P Z zset: URLs delayed for a spent budget, by when they are due; P v,
-- P V: the same, of those that are being woken.

local TODAY, SPENT = '<dddd', 'budget spent: '
local function used_of_job()
  local pages, bytes = pages_and_bytes(call('HGET', P .. 'u', 'job'))
  return {n.accepted, pages, bytes}
end
local function used_today()
  local raw, today = call('HGET', P .. 'u', 'day'), math.floor(now / 86400)
  if not raw then return {0, 0, 0}, today end
  local day, urls, pages, bytes = su(TODAY, raw)
  if today > day then return {0, 0, 0}, today end
  return {urls, pages, bytes}, day -- a clock that goes back stays in the day that it had reached
end
local function use_today(urls, pages, bytes)
  local had, day = used_today()
  call('HSET', P .. 'u', 'day', sp(TODAY, day, had[1] + urls, had[2] + pages, had[3] + bytes))
end
-- by_site: half -> {pages, bytes} that were fetched
local function use(by_site)
  local pages, bytes = 0, 0
  for half, more in pairs(by_site) do
    local had_pages, had_bytes = pages_and_bytes(call('HGET', P .. 'u', half))
    call('HSET', P .. 'u', half, sp(USED, had_pages + more[1], had_bytes + more[2]))
    grow(half, 0, more[1], more[2])
    pages, bytes = pages + more[1], bytes + more[2]
  end
  local had_pages, had_bytes = pages_and_bytes(call('HGET', P .. 'u', 'job'))
  call('HSET', P .. 'u', 'job', sp(USED, had_pages + pages, had_bytes + bytes))
  use_today(0, pages, bytes)
end

local function sleep_group(g, why)
  call('HSETNX', P .. 'z', g.id, sp('<d', g.turn) .. why)
end
local function sleep_url(s)
  call('ZREMRANGEBYSCORE', P .. 'Z', '-inf', string.format('%.17g', now))
  call('ZADD', P .. 'Z', s.time, member(s))
end
-- Other rules: all who sleep for a budget look again. They are put aside at once (P v, P V), so that who falls asleep meanwhile is none of
-- them, and woken WOKEN at a time. After `begin`. n.relook is 0 from a change until its sleepers are aside, and
-- WAKING until they are awake.
local WOKEN, WAKING = 1000, 0.5
local function are_aside() return call('EXISTS', P .. 'v', P .. 'V') > 0 end
local function wake_sleepers()
  if n.relook == 0 and not are_aside() then
    for from, to in pairs({z = 'v', Z = 'V'}) do
      if call('EXISTS', P .. from) == 1 then call('RENAME', P .. from, P .. to) end
    end
    n.relook = WAKING
    changed = true
  end
  local ids = call('EXISTS', P .. 'v') == 1 and call('HRANDFIELD', P .. 'v', WOKEN) or {}
  local turns = hmget(P .. 'v', ids)
  load_groups(ids)
  for i, id in ipairs(ids) do
    local g = group(id)
    if g then
      g.turn = math.min(g.turn, (su('<d', turns[i])))
      touch(g)
    end
  end
  spread('HDEL', P .. 'v', ids)
  local members = call('ZRANGE', P .. 'V', 0, WOKEN - 1)
  ids = {}
  for i, m in ipairs(members) do ids[i] = text(id_in(m)) end
  for i, raw in ipairs(hmget(P .. 's', ids)) do
    local s = raw and spot_of(tonumber(ids[i]), raw)
    if s and s.state == DELAYED and sub(s.tail, 1, #SPENT) == SPENT then
      leave(s)
      s.time = 0
      enter(s)
    end
  end
  spread('ZREM', P .. 'V', members)
  return n.relook == WAKING and not are_aside()
end
