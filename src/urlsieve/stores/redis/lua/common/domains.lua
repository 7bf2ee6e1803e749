-- Sites; and what each registrable domain has used, where anybody counts by it (see budgets.lua): P d hash: site half -> domain, "" once all sites have
-- one; P D<domain> set: its sites' halves; P c hash: domain -> URLs, pages, bytes of its sites, from when it was first asked for.

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

local DOMAIN, USED = '<ddd', '<dd'
local told, grown = {}, {} -- site half -> domain that the caller names; site half -> URLs, pages, bytes that came (less: negative)
local function grow(half, urls, pages, bytes)
  local have = grown[half] or {0, 0, 0}
  grown[half] = {have[1] + urls, have[2] + pages, have[3] + bytes}
end
-- So many more of a site are accepted, in this shard's count too
local function accept(half, by)
  add('accepted', by)
  grow(half, by, 0, 0)
end
local function pages_and_bytes(raw)
  if not raw then return 0, 0 end
  local pages, bytes = su(USED, raw)
  return pages, bytes
end
local function used_of_sites(halves)
  load_sites(halves)
  local urls, pages, bytes = 0, 0, 0
  for i, raw in ipairs(hmget(P .. 'u', halves)) do
    local site = S[halves[i]]
    if site then urls = urls + call('HLEN', P .. 'f' .. halves[i]) - site.known end
    local more_pages, more_bytes = pages_and_bytes(raw)
    pages, bytes = pages + more_pages, bytes + more_bytes
  end
  return {urls, pages, bytes}
end
local function sum(one, other) return {one[1] + other[1], one[2] + other[2], one[3] + other[3]} end

-- Marks, sites and what was fetched are written: the domains' counts follow. A site whose domain nobody had named comes with all it has.
local function count_domains()
  if not next(told) and (not next(grown) or call('EXISTS', P .. 'd') == 0) then
    grown = {}
    return
  end
  local halves, new, more = {}, {}, {}
  for half in pairs(told) do halves[#halves + 1] = half end
  for half in pairs(grown) do
    if not told[half] then halves[#halves + 1] = half end
  end
  for i, have in ipairs(hmget(P .. 'd', halves)) do
    local half = halves[i]
    local domain = have or told[half]
    if domain and not have then
      new[#new + 1] = half
      new[#new + 1] = domain
      call('SADD', P .. 'D' .. domain, half)
    end
    local by = have and grown[half] or nil
    if domain and (by or not have) then
      more[domain] = more[domain] or {}
      table.insert(more[domain], by or half)
    end
  end
  spread('HSET', P .. 'd', new)
  local domains, counts = {}, {}
  for domain in pairs(more) do domains[#domains + 1] = domain end
  for i, raw in ipairs(hmget(P .. 'c', domains)) do
    if raw then
      local count = {su(DOMAIN, raw)}
      for _, by in ipairs(more[domains[i]]) do count = sum(count, type(by) == 'string' and used_of_sites({by}) or by) end
      counts[#counts + 1] = domains[i]
      counts[#counts + 1] = sp(DOMAIN, count[1], count[2], count[3])
    end
  end
  spread('HSET', P .. 'c', counts)
  told, grown = {}, {}
end

-- A site that somebody brought who did not name its domain comes to its count, before that is gone by. pcall: where the server's memory is
-- full this is for the next time.
local function adopt(half, domain)
  if not S[half] or call('HEXISTS', P .. 'd', half) == 1 then return end
  if type(redis.pcall('SADD', P .. 'D' .. domain, half)) ~= 'number' then return end
  call('HSET', P .. 'd', half, domain)
  local raw = call('HGET', P .. 'c', domain)
  if raw then
    local count = sum({su(DOMAIN, raw)}, used_of_sites({half}))
    call('HSET', P .. 'c', domain, sp(DOMAIN, count[1], count[2], count[3]))
  end
end
-- pcall: where the server's memory is full it is counted again the next time
local function used_of_domain(domain)
  local raw = call('HGET', P .. 'c', domain)
  if raw then return {su(DOMAIN, raw)} end
  local count = used_of_sites(call('SMEMBERS', P .. 'D' .. domain))
  redis.pcall('HSET', P .. 'c', domain, sp(DOMAIN, count[1], count[2], count[3]))
  return count
end
