package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// document serves the description; it tells nothing of this installation, so it needs
// no token.
func (r *router) document(e *gin.Engine) {
	made := sync.OnceValues(func() ([]byte, error) { return openapi(e) }) // when all routes are there
	e.GET("/openapi.json", func(c *gin.Context) {
		text, err := made()
		if err != nil {
			r.fail(c, err)
			return
		}
		c.Data(http.StatusOK, "application/json", text)
	})
}

// openapi makes the description of what the router serves, OpenAPI 3.0: of the routes
// in documented those that are there. Bodies and answers are described by the types
// that are written and read, so that the description is what is done; the tests hold
// the two lists of routes, and every answer, against it.
func openapi(e *gin.Engine) ([]byte, error) {
	there := map[string]bool{}
	for _, r := range e.Routes() {
		there[r.Method+" "+documentPath(r.Path)] = true
	}
	s := newSchemas()
	problem := map[string]any{"description": "refused", "content": map[string]any{"application/problem+json": map[string]any{"schema": s.of(reflect.TypeFor[Problem]())}}}
	paths := map[string]map[string]any{}
	for _, d := range documented() {
		if !there[d.method+" "+d.path] {
			continue
		}
		if paths[d.path] == nil {
			paths[d.path] = map[string]any{}
		}
		paths[d.path][strings.ToLower(d.method)] = d.operation(s)
	}
	return json.Marshal(map[string]any{
		"openapi": "3.0.3",
		"info": map[string]any{"title": "Causeway", "version": "v1", "description": "The admin listener. Fields are added, never changed: pass over what you do not know. " +
			"Every refusal is application/problem+json. A token has a role: viewer, operator or admin, each of which may do what the ones before may."},
		"paths": paths,
		"components": map[string]any{
			"schemas":         s.components,
			"responses":       map[string]any{"Problem": problem},
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
}

// pathParameter is a parameter in a path of gin.
var pathParameter = regexp.MustCompile(`/:([a-z]+)`) //nolint:gochecknoglobals // a constant

// documentPath is a path of gin as OpenAPI writes it.
func documentPath(path string) string {
	return pathParameter.ReplaceAllString(strings.ReplaceAll(path, `\:`, ":"), "/{$1}")
}

// route is one route of the document. params are query parameters, each with its form
// behind a colon; a word without one is a text.
type route struct {
	method, path string
	role         Role // "" for none
	says         string
	params       string
	body         any    // a value of the type that is read; nil for none
	raw          string // the content type of a body that is no JSON
	optional     bool
	answers      map[int]any // by status: a value of the type that is written, or a content type
}

func (d *route) operation(s *schemas) map[string]any {
	op := map[string]any{"summary": d.says, "operationId": d.id()}
	if d.role != "" {
		op["description"] = "Needs the role " + string(d.role) + "."
		op["security"] = []any{map[string]any{"token": []string{}}}
	}
	params := []any{}
	for _, m := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(d.path, -1) {
		params = append(params, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, p := range strings.Fields(d.params) {
		name, form, _ := strings.Cut(p, ":")
		params = append(params, map[string]any{"name": name, "in": "query", "schema": form2schema(form)})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	switch {
	case d.raw != "":
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{d.raw: map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}}}
	case d.body != nil:
		op["requestBody"] = map[string]any{"required": !d.optional, "content": map[string]any{"application/json": map[string]any{"schema": s.of(reflect.TypeOf(d.body))}}}
	}
	answers := map[string]any{"default": map[string]any{"$ref": "#/components/responses/Problem"}}
	for status, what := range d.answers {
		content := map[string]any{}
		switch what := what.(type) {
		case string:
			content[what] = map[string]any{"schema": map[string]any{"type": "string"}}
		case []any: // one of them
			var each []any
			for _, v := range what {
				each = append(each, s.of(reflect.TypeOf(v)))
			}
			content["application/json"] = map[string]any{"schema": map[string]any{"oneOf": each}}
		default:
			content["application/json"] = map[string]any{"schema": s.of(reflect.TypeOf(what))}
		}
		answers[strconv.Itoa(status)] = map[string]any{"description": http.StatusText(status), "content": content}
	}
	op["responses"] = answers
	return op
}

// id is a name made of method and path.
func (d *route) id() string {
	words := strings.FieldsFunc(strings.TrimPrefix(d.path, "/api/v1"), func(c rune) bool { return c < 'a' || c > 'z' })
	return strings.ToLower(d.method) + "_" + strings.Join(words, "_")
}

func form2schema(form string) map[string]any {
	switch form {
	case "":
		return map[string]any{"type": "string"}
	case "time":
		return map[string]any{"type": "string", "format": "date-time"}
	case "flag":
		return map[string]any{"type": "string", "enum": []string{"1", "true", "0", "false"}}
	case "number":
		return map[string]any{"type": "integer", "format": "int64"}
	case "limit":
		return map[string]any{"type": "integer", "minimum": 1, "maximum": maxLimit, "default": defaultLimit}
	}
	words := strings.Split(form, "|")
	slices.Sort(words)
	return map[string]any{"type": "string", "enum": words}
}

const platformWords = "platform:whatsapp|wecom|unified"

// deadParams are those that select dead letters.
const deadParams = "app account " + platformWords + " conv kind:event|message|item|payload state:open|requeued|dropped reason since:time until:time"

// documented are the routes. It is data.
func documented() []route {
	type words = struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	type stopped = struct {
		Scope  gateway.BrakeScope `json:"scope"`
		Name   string             `json:"name"`
		Paused bool               `json:"paused"`
	}
	ok := func(v any) map[int]any { return map[int]any{http.StatusOK: v} }
	api := func(method, path string, role Role, says, params string, answer any) route {
		return route{method: method, path: "/api/v1" + path, role: role, says: says, params: params, answers: ok(answer)}
	}
	with := func(r route, body any, optional bool) route { r.body, r.optional = body, optional; return r }
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/healthz", says: "The process lives", answers: ok("text/plain")},
		{method: get, path: "/readyz", says: "Whether callbacks are taken, and how every part is", answers: map[int]any{http.StatusOK: Readiness{}, http.StatusServiceUnavailable: Readiness{}}},
		{method: get, path: "/openapi.json", says: "This description", answers: ok(map[string]any{})},
		{method: get, path: "/schemas/{name}", says: "The JSON Schema of events, answers, states or requests to send", answers: ok("application/schema+json")},
		{method: get, path: "/metrics", role: RoleViewer, says: "Metrics for Prometheus", answers: ok("text/plain")},
		api(get, "/payloads", RoleViewer, "What arrived, newest first", "endpoint since:time until:time before limit:limit", struct {
			Payloads []payloadListed `json:"payloads"`
			Next     int64           `json:"next,omitempty"`
		}{}),
		api(get, "/payloads/{id}", RoleViewer, "One of them, and what became of it; its body needs the role operator and is audited", "body:flag", payloadDetail{}),
		api(get, "/events", RoleOperator, "Events as they are published, one JSON a line; audited", "payload conv since:time until:time endpoint", "application/x-ndjson"),
		api(get, "/rejects", RoleViewer, "Callbacks that did not verify, newest first", "before:number limit:limit", struct {
			Rejects []rejectView `json:"rejects"`
			Next    int64        `json:"next,omitempty"`
		}{}),
		api(get, "/rejects/{id}", RoleViewer, "One of them; its body needs the role operator and is audited", "body:flag", rejectView{}),
		api(post, "/rejects/{id}/readmit", RoleOperator, "Take one back, if it verifies today", "", struct {
			Payload string `json:"payload"`
		}{}),
		api(post, "/rejects/readmit", RoleOperator, "Take all back that verify today", "endpoint", Readmitted{}),
		with(api(post, "/replays", RoleOperator, "Hand archived payloads out again", "", ReplayStarted{}), ReplayRequest{}, false),
		api(post, "/replays/{run}/release", RoleAdmin, "Let the held replies of a replay go", "", struct {
			Run           string `json:"run"`
			Conversations int    `json:"conversations"`
		}{}),
		api(get, "/dead", RoleViewer, "Dead letters, newest first", deadParams+" before limit:limit", struct {
			Dead []gateway.DeadLetter `json:"dead"`
			Next string               `json:"next,omitempty"`
		}{}),
		api(get, "/dead/stats", RoleViewer, "Counts of dead letters", deadParams, gateway.DeadStats{}),
		api(get, "/dead/{id}", RoleViewer, "A dead letter", "", gateway.DeadLetter{}),
		api(post, "/dead/{id}/requeue", RoleOperator, "Set a dead letter moving again. "+gateway.RequeueOrder, "", words{}),
		api(post, "/dead/requeue", RoleOperator, "Set many moving, oldest first, or with dry_run say what that would be", deadParams+" limit:number dry_run:flag", []any{RequeuedAll{}, deadPlanned{}}),
		with(api(post, "/dead/{id}/drop", RoleAdmin, "Close a dead letter for good", "", words{}), dropForm{}, true),
		with(api(post, "/dead/drop", RoleAdmin, "Close many for good; why must be said", deadParams+" limit:number dry_run:flag", []any{DroppedAll{}, deadPlanned{}}), dropForm{}, true),
		api(get, "/apps", RoleViewer, "The applications as they stand", "", struct {
			At   time.Time          `json:"at"`
			Apps []ApplicationState `json:"apps"`
		}{}),
		api(get, "/tail", RoleViewer, "What happens, as it happens: server-sent events, each with a TailLine as data; texts need the role operator and are audited",
			"app account conv kind:message|change|status|echo|state|notice text:flag", "text/event-stream"),
		api(post, "/apps/{name}/pause", RoleOperator, "Hand an application no more events", "", stopped{}),
		api(post, "/apps/{name}/resume", RoleOperator, "Let it go on", "", stopped{}),
		api(get, "/brakes", RoleViewer, "What is stopped", "", struct {
			Brakes []gateway.Brake `json:"brakes"`
		}{}),
		api(post, "/brakes/{scope}/{name}/pause", RoleOperator, "Stop an app, an account, a conversation, or replies (of an application, or all)", "", stopped{}),
		api(post, "/brakes/{scope}/{name}/resume", RoleOperator, "Let it go on", "", stopped{}),
		api(get, "/conversations", RoleViewer, "Conversations: the busiest, those that wait, those without an answer", "list:hot|waiting|unanswered app account after:number limit:limit", struct {
			Conversations []gateway.ListedConversation `json:"conversations"`
			Next          int64                        `json:"next,omitempty"`
		}{}),
		api(get, "/conversations/{conv}", RoleViewer, "A conversation; its texts need the role operator and are audited", "limit:limit text:flag", gateway.Conversation{}),
		api(get, "/conversations:find", RoleViewer, "The id of the conversation with somebody", platformWords+" account identity kind", struct {
			Conv string `json:"conv"`
		}{}),
		api(post, "/conversations/{conv}/release", RoleOperator, "Take a conversation back from a colleague", "then:drop|send", struct {
			Conv string `json:"conv"`
			Held int    `json:"held"`
		}{}),
		api(get, "/unanswered", RoleViewer, "What was recovered too late to be answered, newest first", "app before:number limit:limit", struct {
			Unanswered []gateway.Unanswered `json:"unanswered"`
			Next       int64                `json:"next,omitempty"`
		}{}),
		api(get, "/messages", RoleViewer, "Outgoing messages, without texts", "state:"+strings.Join(messageStates(), "|")+" account app conv task key due_from:time due_until:time after limit:limit", struct {
			Messages []messageView `json:"messages"`
			Next     string        `json:"next,omitempty"`
		}{}),
		api(get, "/messages/{id}", RoleViewer, "A message and the calls made for it", "", messageDetail{}),
		{method: post, path: "/api/v1/messages", role: RoleOperator, says: "Send a message; 200 where the key was there with the same request", body: SubmitForm{},
			answers: map[int]any{http.StatusOK: gateway.Submitted{}, http.StatusAccepted: gateway.Submitted{}}},
		api(post, "/messages/{id}/cancel", RoleOperator, "Take back a message that waits", "", words{}),
		with(api(post, "/messages/{id}/resolve", RoleOperator, "Settle a message whose outcome nobody knows", "", words{}), resolveForm{}, false),
		with(api(post, "/messages:change", RoleOperator, "Change many messages that have not left", "", changedView{}), ChangeForm{}, false),
		api(get, "/media", RoleViewer, "Files of events, newest first", "event account state:pending|ready|unavailable before:number limit:limit", struct {
			Media []mediaView `json:"media"`
			Next  int64       `json:"next,omitempty"`
		}{}),
		api(get, "/media/{file}", RoleViewer, "The bytes of a file, ranges too", "", "*/*"),
		{method: post, path: "/api/v1/media", role: RoleOperator, says: "Put in a file that is to be sent", raw: "*/*", answers: map[int]any{http.StatusCreated: gateway.File{}}},
		api(get, "/sums", RoleViewer, "The sums that say that nothing vanished", "recount:flag", sumsAnswer{}),
		api(get, "/doctor", RoleViewer, "What is wrong, and what to do", "", Report{}),
		api(get, "/accounts", RoleViewer, "How the senders fare", "", struct {
			Accounts []AccountView `json:"accounts"`
		}{}),
		api(get, "/accounts/{name}", RoleViewer, "How one fares", "", AccountView{}),
		api(post, "/accounts/{name}/resume", RoleOperator, "Let a stopped account try again now", "", struct {
			Name  string               `json:"name"`
			State gateway.AccountState `json:"state"`
		}{}),
		api(get, "/accounts/{name}/doctor", RoleOperator, "What its platform says of an account", "", Report{}),
		api(get, "/audit", RoleAdmin, "The deeds of operators, newest first", "limit:limit", struct {
			Audit []gateway.AuditEntry `json:"audit"`
		}{}),
		api(post, "/adopt", RoleAdmin, "Take over the streams of another store", "", struct {
			Adopted bool `json:"adopted"`
		}{}),
		{method: post, path: "/api/v1/answers", says: "The answer to an event, later; its replytoken is the bearer token", body: gateway.Answer{}, answers: map[int]any{http.StatusAccepted: struct {
			Stored bool `json:"stored"`
		}{}}},
	}
}
