-- 4 group, 5 its name, then settings in pairs: delay, concurrency ("" none), paused ("1"), blocked_until, unblocked. head.
local id, name = ARGV[4], ARGV[5]
load_groups({id})
begin(true)
ensure(id, name)
local g = group(id)
for i = 6, #ARGV, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if field == 'paused' then
    g.paused = value == '1'
  elseif field == 'blocked_until' then
    g.version, g.blocked = g.version + 1, math.max(g.blocked, tonumber(value) + shift)
  elseif field == 'unblocked' then
    g.version, g.failures, g.failed_url, g.several, g.blocks, g.blocked, g.turn = g.version + 1, 0, '', false, 0, 0, 0
  else
    g[field] = value ~= '' and tonumber(value) or nil
  end
end
touch(g)
finish()
return {head()}
