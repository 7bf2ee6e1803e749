-- What belongs to the whole job, in the slot of {job}: KEYS[1] is "urlsieve:{job}:header". 1 what, then its own arguments.
local call, su, sp, sub = redis.call, struct.unpack, struct.pack, string.sub
local KEY, what = KEYS[1], ARGV[1]
local P = sub(KEY, 1, -7)

local function clock(given, callers)
  if callers == '1' then return tonumber(given) end
  local t = call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1e6
end

-- More changes of policy or rules, or locks, than a restart can have lost
local LOST_AT_MOST = 1000000
local function header()
  return call('HMGET', KEY, 'schema', 'header', 'policy', 'pgen', 'rules', 'rgen', 'epoch', 'sweep')
end
-- What follows is done also when the server's memory is full: it takes next to none, and a worker that may not do it could not settle.
local function always() call('DEL', P .. '-') end

if what == 'make' then -- 2 header, 3 policy, 4 run id. Whether it was made now.
  if call('EXISTS', KEY) == 1 then return 0 end
  call('HSET', KEY, 'schema', '1', 'header', ARGV[2], 'policy', ARGV[3], 'pgen', 1, 'rules', '', 'rgen', 0, 'epoch', 1, 'run', ARGV[4])
  return 1
elseif what == 'sign' then -- whoever waits is to look, also when the memory is full
  always()
  return call('INCR', P .. 'changes')
elseif what == 'read' then
  return header()
elseif what == 'run' then -- 2 run id of the server. What `read` gives, the epoch raised where the server has restarted since.
  -- It may have lost a newer policy or newer rules that workers still know, and locks they still hold: these numbers jump beyond them,
  -- so that what the header has is the newest for all.
  if call('EXISTS', KEY) == 1 and call('HGET', KEY, 'run') ~= ARGV[2] then
    always()
    call('HINCRBY', KEY, 'epoch', 1)
    for _, number in ipairs({'pgen', 'rgen', 'lock'}) do call('HINCRBY', KEY, number, LOST_AT_MOST) end
    call('HSET', KEY, 'run', ARGV[2])
  end
  return header()
elseif what == 'policy' then -- 2 policy, 3 expected generation. Whether it was replaced.
  if call('HGET', KEY, 'pgen') ~= ARGV[3] then return 0 end
  always()
  call('HSET', KEY, 'policy', ARGV[2])
  call('HINCRBY', KEY, 'pgen', 1)
  return 1
elseif what == 'rules' then -- 2 rules, 3 expected generation, 4 id of the call, 5 "1" if they must be followed by a sweep, of which the
  -- generation is the number. False: not replaced. A sweep that is not finished comes first: it goes by the rules that it was begun for.
  if call('HGET', KEY, 'ruled') == ARGV[4] then return 1 end -- done before: only the answer was lost
  local sweep = call('HGET', KEY, 'sweep')
  if call('HGET', KEY, 'rgen') ~= ARGV[3] or (sweep and sweep ~= '') then return 0 end
  call('HSET', KEY, 'rules', ARGV[2], 'ruled', ARGV[4])
  local number = call('HINCRBY', KEY, 'rgen', 1)
  if ARGV[5] == '1' then call('HSET', KEY, 'sweep', string.format('%.0f', number)) end
  return 1
elseif what == 'swept' then -- 2 number of the sweep that all shards are done with, 3 the epoch in which they said so. Whether that holds.
  if call('HGET', KEY, 'epoch') ~= ARGV[3] then return 0 end -- the server has restarted, and may have lost a part of it
  if call('HGET', KEY, 'sweep') == ARGV[2] then
    always()
    call('HSET', KEY, 'sweep', '')
  end
  return 1
elseif what == 'tally' then -- reason and count in turn: refused before the store, skipped in another store. 2 kind.
  always()
  for i = 3, #ARGV, 2 do
    local field = ARGV[2] .. '.' .. ARGV[i]
    if call('HEXISTS', P .. 't', field) == 0 then
      local kinds = 0
      for _, name in ipairs(call('HKEYS', P .. 't')) do
        if sub(name, 1, #ARGV[2] + 1) == ARGV[2] .. '.' then kinds = kinds + 1 end
      end
      if kinds >= 200 then field = ARGV[2] .. '.other' end
    end
    call('HINCRBY', P .. 't', field, ARGV[i + 1])
  end
  return 1
elseif what == 'examples' then -- 2 caller's time, 3 "1" if that is the time, then field of a tally before and example in turn
  always()
  local at = sp('<d', clock(ARGV[2], ARGV[3]))
  for i = 4, #ARGV, 2 do
    local field = ARGV[i]
    if call('HEXISTS', P .. 't', field) == 0 then field = string.match(field, '^[^.]*') .. '.other' end
    redis.pcall('LPUSH', P .. 'x' .. field, at .. ARGV[i + 1]) -- nothing depends on it
    redis.pcall('LTRIM', P .. 'x' .. field, 0, 99)
  end
  return 1
elseif what == 'lock' then -- 2 name, 3 owner, 4 for how long, 5 caller's time, 6 "1" if that is the time. Token or false, owner.
  local now, old = clock(ARGV[5], ARGV[6]), call('HGET', P .. 'locks', ARGV[2])
  local token
  if old then
    local expires, held, at = su('<dd', old)
    local owner = sub(old, at)
    if expires > now and owner ~= ARGV[3] then return {false, owner} end
    if expires > now then token = held end
  end
  always()
  token = token or call('HINCRBY', KEY, 'lock', 1)
  call('HSET', P .. 'locks', ARGV[2], sp('<dd', now + tonumber(ARGV[4]), token) .. ARGV[3])
  return {string.format('%.0f', token), ARGV[3]}
elseif what == 'unlock' then -- 2 name, 3 token
  local old = call('HGET', P .. 'locks', ARGV[2])
  if not old then return 0 end
  local _, token = su('<dd', old)
  if string.format('%.0f', token) ~= ARGV[3] then return 0 end
  return call('HDEL', P .. 'locks', ARGV[2])
end
return redis.error_reply('URLSIEVE unknown: ' .. what)
