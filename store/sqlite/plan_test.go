package sqlite_test

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/causewayhq/causeway/store/sqlite"
)

// statements gathers what stores have run.
type statements struct {
	mu              sync.Mutex
	archive, ledger map[string]bool
}

func newStatements() *statements {
	return &statements{archive: map[string]bool{}, ledger: map[string]bool{}}
}

// of adds what a store that is at rest has run.
func (s *statements) of(t *testing.T, st *sqlite.Store) {
	archive, ledger, err := st.Statements(context.Background()) // the test's has ended
	if err != nil {
		t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range archive {
		s.archive[q] = true
	}
	for _, q := range ledger {
		s.ledger[q] = true
	}
}

// small are the tables that have a row per application, account, stream, pause or deed
// of a person, not one per event or conversation.
func small() []string {
	return []string{"meta", "counter", "place", "application", "breaker", "brake", "account_health", "account_slowed", "run", "dead_count"}
}

// large are the tables of which one conversation may have very many rows.
func large() []string { return []string{"event", "pending", "message"} }

// walks are beginnings of statements that read more than they give, and what bounds it.
func walks() map[string]string {
	const (
		operator = "an operator asks for it; it reads what is wrong or waits, by an index of only that, and nothing that is settled"
		recount  = "an operator asks for it; it counts, in slices"
		newest   = "the end of a table, by its key, and no more than the limit"
	)
	return map[string]string{
		"SELECT count(*) FROM reject":                                                     "rejects are bounded by number and size",
		"SELECT count(*), sum(size) FROM reject":                                          "read once, when the file is opened",
		"SELECT id, size, at FROM reject ORDER BY id LIMIT ?":                             newest,
		"SELECT key FROM newest WHERE revoke = 1":                                         "read once, when the file is opened",
		"DELETE FROM newest WHERE row IN (SELECT row FROM newest ORDER BY row":            newest,
		"SELECT at, by, what, target, count, note FROM audit ORDER BY n DESC":             newest,
		"SELECT pos, item, reason FROM again ORDER BY pos, item LIMIT ?":                  newest,
		"SELECT c, count(*), max(received_at) FROM (SELECT c, received_at FROM":           newest,
		"SELECT id FROM message ORDER BY row DESC LIMIT 1":                                newest,
		"SELECT count(*) FROM (SELECT 1 FROM parked LIMIT 1)":                             newest,
		"SELECT app, 'pending', count(*) FROM pending GROUP BY":                           recount,
		"SELECT '', state, count(*) FROM message WHERE row > ? AND row <= ?":              recount,
		"SELECT next_at FROM unburied ORDER BY next_at LIMIT ":                            newest,
		"SELECT iif(item < 0, 'payload', 'item'), count(*), min(since) FROM un":           operator,
		"SELECT app, count(*) FROM pending WHERE blocked_at > 0 GROUP BY":                 operator,
		"SELECT app, count(*), min(blocked_at) FROM pending WHERE":                        operator,
		"SELECT app, count(*), min(at) FROM settled WHERE reason =":                       operator,
		"SELECT endpoint, count(*), min(received_at) FROM payload WHERE":                  operator,
		"SELECT pos FROM payload INDEXED BY payload_sealed WHERE state =":                 operator,
		"SELECT p.app, p.waiting, e.received_at FROM (SELECT app, count(*)":               operator,
		"SELECT account, count(*), min(nullif(held_at, 0)) FROM message WHERE state =":    operator,
		"SELECT run, count(*), min(nullif(held_at, 0)) FROM message WHERE state = 'held'": operator,
		"SELECT m.account, count(*), min(a.ended_at) FROM message m JOIN":                 operator,
		"SELECT account, priority FROM message WHERE conv = ? AND open = 1":               "what is to be sent in one conversation",
		"SELECT id, task, part, parts, app, event, platform, account, conv":               "messages in a state, by an index of it or from the newest on",
		"SELECT s.n, s.app, s.at, e.id, v.conv, v.account, e.payload":                     "those of one event, by application",
		"SELECT * FROM (SELECT id, task, part, parts, app, event, platform,":              "the newest messages of one conversation",
		"SELECT n, id, run, ord, kind, origin, received_at, judged, content":              "both ends of one conversation",
		"WITH RECURSIVE part(c) AS (SELECT c FROM conversation WHERE c >= ?":              "the payloads of one conversation, for a replay",
	}
}

// No statement walks over what grows with events and conversations: a ledger with a
// million conversations answers as one with ten.
func (s *statements) check(t *testing.T) {
	st := open(t, t.TempDir())
	part := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if !part && (len(s.ledger) < 100 || len(s.archive) < 10) {
		t.Errorf("%d statements of the ledger and %d of the archive are too few to be all", len(s.ledger), len(s.archive))
	}
	for _, f := range []struct {
		archive bool
		texts   map[string]bool
	}{{true, s.archive}, {false, s.ledger}} {
		for _, text := range slices.Sorted(maps.Keys(f.texts)) {
			steps, err := st.Plan(t.Context(), f.archive, text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			for _, step := range steps {
				if why := walk(text, step); why != "" {
					t.Errorf("%s: %s\n\t%s", why, step, strings.Join(strings.Fields(text), " "))
				}
			}
		}
	}
}

// walk says what is wrong with a step. Rows that the statement itself made are few.
func walk(text, step string) string {
	text = strings.Join(strings.Fields(text), " ")
	table, isScan := strings.CutPrefix(step, "SCAN ")
	table, _, _ = strings.Cut(table, " ")
	made := table == "CONSTANT" || strings.HasSuffix(table, "-ROW") || strings.HasPrefix(table, "(") || table == "kin" || table == "part"
	switch {
	case isScan && (made || slices.Contains(small(), table)):
		return ""
	case !isScan && (!strings.HasPrefix(step, "USE TEMP B-TREE") || !slices.ContainsFunc(large(), func(t string) bool {
		return strings.Contains(text, "FROM "+t+" ") || strings.Contains(text, "JOIN "+t+" ")
	})):
		return ""
	}
	for begin := range walks() {
		if strings.HasPrefix(text, begin) {
			return ""
		}
	}
	if isScan {
		return "walks over a table"
	}
	return "sorts"
}
