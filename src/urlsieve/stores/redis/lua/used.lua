-- 4 site halves and their domains in turn. head, then of the shard: six numbers, URLs, pages, bytes of the job and of its day; then per
-- site six, of it and of its domain.
local job, day = used_of_job(), used_today()
local out = {sp('<dddddd', job[1], job[2], job[3], day[1], day[2], day[3])}
for i = 4, #ARGV, 2 do
  local own = used_of_sites({ARGV[i]})
  adopt(ARGV[i], ARGV[i + 1])
  local all = used_of_domain(ARGV[i + 1])
  out[#out + 1] = sp('<dddddd', own[1], own[2], own[3], all[1], all[2], all[3])
end
return {head(), table.concat(out)}
