package handlers

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what happens at the front door. Labels are bounded: names of
// configured endpoints and statuses of this package.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	polls    *prometheus.CounterVec
	rejects  *prometheus.CounterVec
	unknown  prometheus.Counter
	panics   prometheus.Counter

	// handles is replaced as a whole under mu, so that a request reads it
	// without a lock and finds its counters without building labels.
	handles atomic.Pointer[map[endpointKey]*endpointMetrics]
	mu      sync.Mutex
}

type endpointKey struct{ platform, endpoint string }

// endpointMetrics are the counters of one endpoint, looked up once.
type endpointMetrics struct {
	byStatus [600]atomic.Pointer[prometheus.Counter]
	seconds  prometheus.Observer
	bytes    prometheus.Counter
	polls    prometheus.Counter
	vec      *prometheus.CounterVec
	key      endpointKey
}

// NewMetrics registers the front door's metrics. Call once per registry; a
// second call returns the registry's error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "causeway_webhook_requests_total",
			Help: "Requests to configured endpoints by answer.",
		}, []string{"platform", "endpoint", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "causeway_webhook_ack_seconds",
			Help:    "From the request's header to the 200, durable.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3.5, 5},
		}, []string{"platform"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "causeway_webhook_archived_bytes_total",
			Help: "Bytes of bodies archived.",
		}, []string{"platform", "endpoint"}),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "causeway_webhook_polls_total",
			Help: "Questions of a platform how far an answer is, which are answered and not archived.",
		}, []string{"platform", "endpoint"}),
		rejects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "causeway_webhook_rejects_total",
			Help: "Refused callbacks, by whether their bytes were kept for a readmission.",
		}, []string{"kept"}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "causeway_webhook_unknown_endpoint_total",
			Help: "Requests to endpoints that are not configured.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "causeway_webhook_panics_total",
			Help: "Requests answered 500 because of a fault in the gateway.",
		}),
	}
	m.handles.Store(&map[endpointKey]*endpointMetrics{})
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.bytes, m.polls, m.rejects, m.unknown, m.panics} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// endpoint returns the counters of a configured endpoint.
func (m *Metrics) endpoint(platform, endpoint string) *endpointMetrics {
	key := endpointKey{platform, endpoint}
	if e := (*m.handles.Load())[key]; e != nil {
		return e
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.handles.Load()
	if e := old[key]; e != nil {
		return e
	}
	e := &endpointMetrics{
		vec:     m.requests,
		key:     key,
		seconds: m.seconds.WithLabelValues(platform),
		bytes:   m.bytes.WithLabelValues(platform, endpoint),
		polls:   m.polls.WithLabelValues(platform, endpoint),
	}
	grown := make(map[endpointKey]*endpointMetrics, len(old)+1)
	for k, v := range old {
		grown[k] = v
	}
	grown[key] = e
	m.handles.Store(&grown)
	return e
}

// answered counts one answer.
func (e *endpointMetrics) answered(status int) {
	slot := &e.byStatus[min(max(status, 0), len(e.byStatus)-1)]
	c := slot.Load()
	if c == nil {
		made := e.vec.WithLabelValues(e.key.platform, e.key.endpoint, strconv.Itoa(status))
		c = &made
		slot.Store(c)
	}
	(*c).Inc()
}

// archived counts one durable callback.
func (e *endpointMetrics) archived(took time.Duration, bytes int) {
	e.seconds.Observe(took.Seconds())
	e.bytes.Add(float64(bytes))
}

// polled counts one question.
func (e *endpointMetrics) polled() { e.polls.Inc() }
