package gateway

import "time"

// Unanswered is a message that was recovered too late to be answered, for an
// application that would have been offered it: recorded, and not handed out.
type Unanswered struct {
	N          int64     `json:"n"`
	App        string    `json:"app"`
	At         time.Time `json:"at"` // when that was decided
	Event      string    `json:"event"`
	Conv       string    `json:"conv"`
	Account    string    `json:"account"`
	Payload    string    `json:"payload"`
	ReceivedAt time.Time `json:"received_at"`
	OccurredAt time.Time `json:"occurred_at"`
}
