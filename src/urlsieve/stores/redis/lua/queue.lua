-- A slice of the pending URLs of one group and class, in their order. 4 class, 5 group, 6 after which place ("" from the first),
-- 7 its priority, 8 how many. head, then per URL: place, priority, spot, body.
local key, many, out = queue_of(ARGV[4], ARGV[5]), tonumber(ARGV[8]), {}
local from = 0
if ARGV[6] ~= '' then
  local rank = call('ZRANK', key, ARGV[6])
  if rank then
    from = rank + 1
  else -- it has left meanwhile: all of its priority once more
    from = call('ZCOUNT', key, '-inf', '(' .. string.format('%.17g', -tonumber(ARGV[7])))
  end
end
local found, ids = call('ZRANGE', key, from, from + many - 1, 'WITHSCORES'), {}
for i = 1, #found, 2 do ids[#ids + 1] = text(id_in(found[i])) end
local raws, bodies = hmget(P .. 's', ids), hmget(P .. 'e', ids)
for i, id in ipairs(ids) do
  if not bodies[i] then error('URLSIEVE broken: no text of entry ' .. id) end
  local s = spot_of(tonumber(id), raws[i], bodies[i])
  keep(s)
  out[#out + 1] = {found[2 * i - 1], text(s.priority), spot_writes[#spot_writes], bodies[i]}
end
return {head(), out}
