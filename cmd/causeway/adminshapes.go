package main

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// The answers of the admin API as the tables read them; --json prints what came.
type (
	appList struct {
		At   time.Time                `json:"at"`
		Apps []admin.ApplicationState `json:"apps"`
	}
	deadList struct {
		Dead []gateway.DeadLetter `json:"dead"`
		Next string               `json:"next"`
	}
	// deadDeed is what a requeue or drop of many did, or would do.
	deadDeed struct {
		DryRun bool `json:"dry_run"`
		gateway.DeadPlan
		Order    string `json:"order"`
		Requeued int    `json:"requeued"`
		Dropped  int    `json:"dropped"`
		Skipped  int    `json:"skipped"`
	}
	payloadList struct {
		Payloads []payloadDetail `json:"payloads"`
		Next     int64           `json:"next"`
	}
	rejectList struct {
		Rejects []rejectView `json:"rejects"`
		Next    int64        `json:"next"`
	}
	messageList struct {
		Messages []messageView `json:"messages"`
		Next     string        `json:"next"`
	}
	conversationList struct {
		Conversations []gateway.ListedConversation `json:"conversations"`
		Next          int64                        `json:"next"`
	}
	readmitted struct {
		Payload string `json:"payload"`
	}
	found struct {
		Conv string `json:"conv"`
	}
	released struct {
		Conversations int `json:"conversations"`
	}
)

// payloadView is a payload without its body.
type payloadView struct {
	Pos         int64       `json:"pos"`
	ID          string      `json:"id"`
	Platform    string      `json:"platform"`
	Endpoint    string      `json:"endpoint"`
	ReceivedAt  time.Time   `json:"received_at"`
	RequestLine string      `json:"request_line"`
	Header      http.Header `json:"header"`
	KeyFP       string      `json:"key_fp"`
	Bytes       int64       `json:"bytes"`
}

// payloadDetail is a payload and what became of it.
type payloadDetail struct {
	payloadView
	State    gateway.PayloadState `json:"state"`
	Reason   string               `json:"reason"`
	Detail   string               `json:"detail"`
	OpenedBy string               `json:"opened_by"`
	Items    []itemView           `json:"items"`
}

type itemView struct {
	Index  int               `json:"index"`
	State  gateway.ItemState `json:"state"`
	Reason string            `json:"reason"`
	Event  string            `json:"event"`
	Conv   string            `json:"conv"`
	Seq    int64             `json:"seq"`
	Kind   gateway.Kind      `json:"kind"`
}

// rejectView is a callback that did not verify.
type rejectView struct {
	ID          int64       `json:"id"`
	At          time.Time   `json:"at"`
	Reason      string      `json:"reason"`
	Platform    string      `json:"platform"`
	Endpoint    string      `json:"endpoint"`
	RequestLine string      `json:"request_line"`
	Header      http.Header `json:"header"`
	Bytes       int64       `json:"bytes"`
}

// messageView is an outgoing message without its text.
type messageView struct {
	ID         string              `json:"id"`
	Task       string              `json:"task"`
	Part       int                 `json:"part"`
	Parts      int                 `json:"parts"`
	App        string              `json:"app"`
	Event      string              `json:"event"`
	Account    string              `json:"account"`
	Conv       string              `json:"conv"`
	Type       string              `json:"type"`
	State      string              `json:"state"`
	Reason     string              `json:"reason"`
	DueAt      time.Time           `json:"due_at"`
	ExpiresAt  *time.Time          `json:"expires_at"`
	NextAt     *time.Time          `json:"next_at"`
	Attempts   int                 `json:"attempts"`
	ExternalID string              `json:"external_id"`
	Delivery   gateway.StatusState `json:"delivery"`
	Failed     *gateway.Problem    `json:"failed"`
	Result     string              `json:"result"`
	TaskState  string              `json:"task_state"`
	Priority   int                 `json:"priority"`
	Author     string              `json:"author"`
	Window     *gateway.SendWindow `json:"window"`
	OnFailure  string              `json:"on_failure"`
	Callback   string              `json:"callback"`
	Calls      []struct {
		N         int       `json:"n"`
		StartedAt time.Time `json:"started_at"`
		Outcome   string    `json:"outcome"`
		Code      string    `json:"code"`
		Detail    string    `json:"detail"`
	} `json:"calls"`
	gateway.Receipts
}

// query makes a query of name and value pairs and leaves out empty ones.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// number is "" for 0, which every query and table takes as not given.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// dashZero is "-" for 0.
func dashZero(n int64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

// positive is "" for 0.
func positive(n int64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}
