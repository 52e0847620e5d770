-- once-per= needs to know for which due time a job succeeded.
ALTER TABLE ledger ADD COLUMN success_due INTEGER; -- due time of the newest success; NULL: none
UPDATE ledger SET success_due = due WHERE verdict = 'ok';
