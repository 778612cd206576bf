package gateway

// StatusState is a platform's word on a message of ours.
type StatusState string

// The states known. Others are kept as they came and move nothing.
const (
	StatusSent      StatusState = "sent"
	StatusDelivered StatusState = "delivered"
	StatusRead      StatusState = "read"
	StatusPlayed    StatusState = "played"
	StatusFailed    StatusState = "failed"
)

// Status is the content of a status event.
type Status struct {
	// MessageID is the platform's id of the message it speaks of.
	MessageID string      `json:"message_id"`
	State     StatusState `json:"state"`
	// Marker is our marker, where the platform plays it back.
	Marker string `json:"marker,omitempty"`
	// Participant is the group member it speaks of, for groups.
	Participant *Identity `json:"participant,omitempty"`
	Errors      []Problem `json:"errors,omitempty"`
}

// Rank orders the states a message moves through; 0 is no state at all.
func (s StatusState) Rank() int {
	switch s {
	case StatusSent:
		return 1
	case StatusDelivered:
		return 2
	case StatusRead:
		return 3
	case StatusPlayed:
		return 4
	case StatusFailed:
		return 0
	}
	return 0
}

// Forward merges a status into what is known: the furthest state wins whatever
// comes first, failed is remembered beside it. changed is false for repeats and
// for what is behind already. Rank order: reference of Meta, statuses arrive
// out of order and read may come without delivered.
func Forward(have StatusState, failed *Problem, st *Status) (now StatusState, nowFailed *Problem, changed bool) {
	if st.State == StatusFailed {
		// A failed receipt of one group member is not a failure of the message.
		if st.Participant != nil || failed != nil {
			return have, failed, false
		}
		p := Problem{}
		if len(st.Errors) > 0 {
			p = st.Errors[0]
		}
		return have, &p, true
	}
	if st.State.Rank() > have.Rank() {
		return st.State, failed, true
	}
	return have, failed, false
}
