-- The keys of each user and their sizes, without reading the values.
DROP INDEX state_user;
CREATE INDEX state_size ON state (user, length(key) + length(value));
