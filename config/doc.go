// Package config is the configuration: one struct, read from one YAML file.
//
// Promise: Load returns either a configuration that obeys every rule, or
// *Errors, which names for each mistake the file, the line, the field and what
// would be right; several at once. An unknown field is a mistake. No error and no
// printed form of a Config holds a secret. Owner: the caller of Load; a Config
// is plain data, not changed after Load. Failure: nothing is guessed; a file
// with a mistake is not used at all.
//
// # Values from elsewhere
//
// In any value, ${env:NAME} is replaced by an environment variable and
// ${file:/path} by a file's content without its last line break, at most 64 KiB.
// A variable that is not set and a file that cannot be read are mistakes. $${
// is a plain ${.
//
// # Overrides
//
// An environment variable CAUSEWAY_ and the field's path in capitals, joined by
// underscores, replaces the value of the file:
//
//	listen                        CAUSEWAY_LISTEN
//	admin.listen                  CAUSEWAY_ADMIN_LISTEN
//	store, store.reserve          CAUSEWAY_STORE, CAUSEWAY_STORE_RESERVE
//	nats.url                      CAUSEWAY_NATS_URL
//	limits.ack_timeout            CAUSEWAY_LIMITS_ACK_TIMEOUT
//	trusted_proxies               CAUSEWAY_TRUSTED_PROXIES (a list: with commas)
//	endpoints, the one named meta:  CAUSEWAY_ENDPOINTS_META_APP_SECRET
//	applications, the one named a-b: CAUSEWAY_APPLICATIONS_A_B_TRIES
//
// Entries of lists are found by name, with hyphens as underscores; an override
// changes an entry and never makes one.
package config
