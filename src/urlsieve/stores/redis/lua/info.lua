-- 4 fingerprint. head, mark (false: not seen), spot, body, record of its group, pending URLs of its class that come first (to 1,000).
local value = known_of(ARGV[4])[1]
if not value then return {head(), false} end
local id = value > 0 and value or value <= -10 and -value - 10
if not id then return {head(), text(value)} end
local body = call('HGET', P .. 'e', text(id))
if not body then error('URLSIEVE broken: no text of entry ' .. text(id)) end
local _, _, _, grp = su(BODY, body)
local record = call('HGET', P .. 'g', grp)
if value <= 0 then return {head(), text(value), false, body, record, 0} end
local raw = call('HGET', P .. 's', text(id))
local s, ahead = spot_of(id, raw, body), 0
if s.state == PENDING then
  ahead = math.min(1000, call('ZRANK', queue_of(s.class, s.grp), member(s)) or 0)
end
keep(s)
return {head(), text(value), spot_writes[2], body, record, ahead}
