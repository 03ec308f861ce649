package session

import (
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// maxPatience is how many timeouts an answer is waited for at most.
const maxPatience = 4

// maxLatencies is how many of the last latencies the median is taken of.
const maxLatencies = 32

// A pace is how fast a peer answers: the latencies of its last answers, and what is
// queued before the next one. The latency of an answer counts from the answer before
// it, if that came after the request was sent, since a peer may answer one request
// after another.
type pace struct {
	mu        sync.Mutex
	queued    map[string]time.Time // when a request was sent, by the key of its id
	exchanges int                  // requests of HTTP that carry no message of the session
	latencies []time.Duration
	lastCame  time.Time
}

// sent counts the requests in a message of the client.
func (p *pace) sent(m wire.Message) {
	for _, part := range m.Elements() {
		// The server answers subscriptions/listen at the end of the stream
		// (basic/patterns/subscriptions).
		if part.Kind != wire.Request || part.Method() == "subscriptions/listen" {
			continue
		}
		p.mu.Lock()
		if p.queued == nil {
			p.queued = map[string]time.Time{}
		}
		p.queued[part.ID().Key()] = time.Now()
		p.mu.Unlock()
	}
}

// came takes the latency of a response of the peer.
func (p *pace) came(m wire.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, known := p.queued[m.ID().Key()]
	if !m.IsResponse() || !known {
		return
	}
	delete(p.queued, m.ID().Key())
	if p.lastCame.After(since) {
		since = p.lastCame
	}
	p.lastCame = time.Now()
	if len(p.latencies) == maxLatencies {
		p.latencies = p.latencies[1:]
	}
	p.latencies = append(p.latencies, p.lastCame.Sub(since))
}

// addExchanges counts requests of HTTP that carry no message of the session.
func (p *pace) addExchanges(n int) {
	p.mu.Lock()
	p.exchanges += n
	p.mu.Unlock()
}

// patience returns how long an answer is waited for that is due now: the median
// latency times what is queued, with one more for what no latency shows; at least the
// timeout and at most four times that.
func (p *pace) patience(timeout time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.latencies) == 0 {
		return timeout
	}
	sorted := slices.Sorted(slices.Values(p.latencies))
	queued := len(p.queued) + p.exchanges + 1
	return min(max(sorted[len(sorted)/2]*time.Duration(queued), timeout), maxPatience*timeout)
}

// Patience returns how long an answer is waited for: the timeout, or more if the peer
// takes long for each answer and has several requests to answer. It is short if the peer
// sent nothing since it left a request and the test of its liveness unanswered.
func (c *Conn) Patience() time.Duration {
	if c.hungAfter.Load() == c.total.frames.Load()+1 {
		return c.opts.Timeout / hungDivisor
	}
	return c.pace.patience(c.opts.Timeout)
}

// hungDivisor divides the timeout for a peer that hangs.
const hungDivisor = 20

// noteHang notes that the peer answers nothing, until it sends something again.
func (c *Conn) noteHang() { c.hungAfter.Store(c.total.frames.Load() + 1) }

// noteLate notes an answer that came after the deadline for a request.
func (c *Conn) noteLate(answer wire.Entry, request int) {
	sent, _ := c.Entry(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late == nil {
		c.late = map[int]time.Duration{}
	}
	c.late[answer.Index] = answer.At - sent.At
}

// Lateness returns how long the answer in a frame took if it came after the deadline;
// 0 if it came in time.
func (c *Conn) Lateness(index int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late[index]
}

// ExpectExchanges counts requests of HTTP that are about to be sent with StartExchange
// at the same time. The function that it returns ends the count.
func (c *Conn) ExpectExchanges(n int) (done func()) {
	c.pace.addExchanges(n)
	return func() { c.pace.addExchanges(-n) }
}
