-- Ledgers of what ran before there were ledgers, for the account that each job
-- ran as last. An occurrence is over when none of its attempts is live; how its
-- last one ended is what counts. Of each job the runs are read back to its
-- newest success, which for most is the newest run.
INSERT INTO ledger (job, user, verdict, run, due, ended, success, bad, told)
WITH owned AS MATERIALIZED (
    SELECT n AS job, (SELECT user FROM run WHERE job = n ORDER BY id DESC LIMIT 1) AS user FROM job
), good AS MATERIALIZED (
    SELECT job, user, coalesce((SELECT id FROM run WHERE run.job = owned.job AND run.user = owned.user
        AND outcome = 'exited' AND code = 0 ORDER BY id DESC LIMIT 1), 0) AS id
    FROM owned WHERE user IS NOT NULL
), last AS MATERIALIZED (
    SELECT good.job, good.user, good.id AS good, max(run.id) FILTER (WHERE state = 'ended') AS id
    FROM good CROSS JOIN run ON run.job = good.job AND run.id >= good.id AND run.user = good.user
    GROUP BY good.job, good.user, good.id, invocation
    HAVING count(*) FILTER (WHERE state NOT IN ('ended', 'dropped')) = 0
), streak AS MATERIALIZED (
    SELECT job, user, good, max(id) AS newest, count(*) FILTER (WHERE id > good) AS bad
    FROM last WHERE id IS NOT NULL GROUP BY job, user, good
)
SELECT s.job, s.user, CASE WHEN s.bad = 0 THEN 'ok' WHEN r.outcome = 'lost' THEN 'lost' ELSE 'fail' END,
    s.newest, r.due, r.ended, (SELECT ended FROM run WHERE id = s.good), s.bad, 0
FROM streak AS s CROSS JOIN run AS r ON r.id = s.newest;
