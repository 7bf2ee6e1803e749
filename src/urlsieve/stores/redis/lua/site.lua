-- 4 site half, 5 its name, 6 its limit, "" for none, 7 its domain, "" where nobody counts by it. head.
load_sites({ARGV[4]})
begin(true)
local site = ensure_site(ARGV[4], ARGV[5], ARGV[7] ~= '' and ARGV[7] or nil)
site.limit = tonumber(ARGV[6])
site_changed(site)
finish()
return {head()}
