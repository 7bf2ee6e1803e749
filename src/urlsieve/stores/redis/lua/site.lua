-- 4 site half, 5 its name, 6 its limit, "" for none. head.
load_sites({ARGV[4]})
begin(true)
local site = ensure_site(ARGV[4], ARGV[5])
site.limit = tonumber(ARGV[6])
site_changed(site)
finish()
return {head()}
