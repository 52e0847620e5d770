# More than 50 options, each in a block that a plain cron takes for comments: it
# runs each of these entries once a minute, and says nothing.
SHELL=/bin/sh
MAILTO=""
#@ default keep=100,30d output-max=1M -- for all below

#@ name=system-when tz=Asia/Shanghai dst=second jitter=30s grace=2m catchup=all:3 deadline=6h
* * * * * root echo system-when >>/tmp/fired

#@ name=system-rate every=90m phase=3m catchup=once
* * * * * root echo system-rate >>/tmp/fired

#@ name=system-once at='2031-03-01 08:00'
* * * * * root echo system-once >>/tmp/fired

#@ name=system-hand trigger=manual
* * * * * root echo system-hand >>/tmp/fired

#@ name=system-alarm on=job:system-when:fail,lost,job:system-rate:dead
* * * * * root echo system-alarm >>/tmp/fired

#@ name=system-off enabled=no
* * * * * root echo system-off >>/tmp/fired

#@ name=system-edges after=system-when:done,system-rate when=one_success wait=2h
#@ if="test -d /tmp" pool=wan:2
#@ overlap=queue-all
* * * * * root echo system-edges >>/tmp/fired

#@ name=system-many overlap=allow max-instances=3
* * * * * root echo system-many >>/tmp/fired

#@ name=system-stop timeout=1h stop-signal=INT stop-grace=5s ok=0,3 skip-code=99
* * * * * root echo system-stop >>/tmp/fired

#@ name=system-retry retry=8 backoff=30s..20mx1.5 retry-jitter=25% retry-on=10,timeout,lost
#@ no-retry-on=11 breaker=3/6h on-exhausted=pause if-lost=rerun
* * * * * root echo system-retry >>/tmp/fired

#@ name=system-limits priority=8 nice=-5 io-weight=200 cpu-weight=50 slice=batch
#@ memory=2G memory-high=1536M cpu=150% tasks=64 nofile=1024
* * * * * root echo system-limits >>/tmp/fired

#@ name=system-idle idle protect
* * * * * root echo system-idle >>/tmp/fired

#@ name=system-notice log=file:/tmp/system.log mail=failure mailto=ops@example.org,root
#@ notify=ops,chat notify-on=fail,each,late,recover max-late=5m max-run=1h expect=2d
* * * * * root echo system-notice >>/tmp/fired

#@ name=system-ring scope=ring host=localhost,web-1.example.org if-partitioned=hold quorum=2
* * * * * root echo system-ring >>/tmp/fired

# The directives end with a default that ends all.
#@ default
* * * * * root echo system-plain >>/tmp/fired
