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
		"judge.judging", "judge.judged",
	}
}

// sideBoundaries are those beside the way: what overtakes a large payload, what the
// gate decides without an answer, what is sent once more, and what operators ask for.
func sideBoundaries() []string {
	return []string{
		"relay.overtaking", "relay.overtook",
		"gate.collecting", "gate.collected",
		"gate.resolving", "gate.resolved", "gate.withdrawn", "recall.committed", "tend.committed",
		"bury.committed", "requeue.committed",
		"breaker.keeping", "breaker.kept", "account.keeping", "account.kept",
		"readmit.verified", "readmit.archived",
		"replay.read", "replay.relayed", "replay.ending",
		"submit.checked", "submit.committed",
		"queue.changing", "queue.changed",
		"unknown.resending", "unknown.resent",
		"results.posting", "results.posted",
		"media.stored", "media.committed",
		"bridge.calling", "bridge.called", "bridge.answering", "bridge.answered",
		"pull.fetched", "pull.archived",
		"states.acked", "states.committed",
	}
}
