-- A newer policy, rules generation or epoch reaches the shard; and a new one hears to which job it belongs. head.
if n.job == 0 then add('job', job) end
if changed then
  begin(true)
  if rules_changed then wake_sleepers() end
  finish()
end
return {head()}
