-- A newer policy, rules generation or epoch reaches the shard. head.
if changed.policy or changed.rgen or changed.epoch then
  begin(true)
  finish()
end
return {head()}
