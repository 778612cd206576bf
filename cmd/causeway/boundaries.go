package main

// The boundaries of the way of a callback at which a process may die. Tests end
// the process at each of them with SIGKILL; production passes no hook.
func boundaries() []string {
	return []string{
		"ingest.verified", "ingest.archived",
		"relay.decoded", "relay.committed",
		"publish.acked",
		"gate.offering", "gate.offered",
		"worker.handled", "worker.answered",
		"intake.taken", "intake.committed",
		"outbox.attempt_stored", "outbox.called", "outbox.outcome_stored",
	}
}
