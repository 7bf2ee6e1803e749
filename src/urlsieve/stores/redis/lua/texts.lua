-- Entries by their ids, from 4 on. head, then per entry: spot ("" if done), body, or false if it is gone.
local ids, out = {}, {}
for i = 4, #ARGV do ids[i - 3] = ARGV[i] end
local raws, bodies = hmget(P .. 's', ids), hmget(P .. 'e', ids)
for i, id in ipairs(ids) do
  out[i] = false
  if bodies[i] then
    local s = spot_of(tonumber(id), raws[i], bodies[i])
    keep(s)
    out[i] = {spot_writes[#spot_writes], bodies[i]}
  end
end
return {head(), out}
