package check

import "github.com/mcpcheck/mcpcheck/internal/session"

// A Key names a result that several checks share, such as the tool calls of the
// survey. Each key is declared in one place.
type Key[V any] struct{ name string }

// NewKey returns a key; its name is for messages and must be unique.
func NewKey[V any](name string) Key[V] { return Key[V]{name} }

// For returns the key of the part of a result that is about one thing, such as one
// method.
func (k Key[V]) For(what string) Key[V] { return Key[V]{k.name + " " + what} }

// Once returns what compute returned when it was first called for a key at this
// revision. If compute ends the body, or a limit on the rate of requests turned it
// away, the next check calls it again.
func Once[V any](t *T, key Key[V], compute func() V) V {
	if v, ok := t.pool.Cached(key.name); ok {
		noteIncomplete(t, key)
		return v.(V)
	}
	limited := t.pool.RateLimitedCount()
	v := compute()
	if t.out.gaveUp != "" {
		t.pool.Cache(key.name+withoutKey, t.out.gaveUp)
	}
	if t.pool.RateLimitedCount() == limited {
		t.pool.Cache(key.name, v)
	}
	return v
}

// withoutKey is the suffix of the key under which the method is stored whose messages a
// result lacks because they were given up.
const withoutKey = " without"

// noteIncomplete records that a shared result lacks messages that were given up.
func noteIncomplete[V any](t *T, key Key[V]) {
	if method, ok := t.pool.Cached(key.name + withoutKey); ok {
		t.out.gaveUp = method.(string)
	}
}

// inSession is a value and the session in which it was computed.
type inSession[V any] struct {
	session *session.Session
	value   V
}

// OnceInSession is like Once for a result that names state of the server, such as
// tasks or cursors: it is computed again after its session has ended, because the
// instance of the server may have ended with it.
func OnceInSession[V any](t *T, key Key[V], compute func() V) V {
	kept := Key[inSession[V]](key)
	if known, ok := Cached(t, kept); ok && known.session.ConnectionError() == nil {
		noteIncomplete(t, key)
		return known.value
	}
	t.pool.Drop(key.name)
	return Once(t, kept, func() inSession[V] { return inSession[V]{t.s, compute()} }).value
}

// Cached returns what Once keeps for a key; ok is false if nothing was computed.
func Cached[V any](t *T, key Key[V]) (v V, ok bool) {
	kept, ok := t.pool.Cached(key.name)
	if ok {
		v = kept.(V)
	}
	return v, ok
}

// A Trait is a fact about the server that holds at every revision, such as a tool that
// takes long: what costs time is found out once.
type Trait string

// SetTrait records a trait.
func SetTrait(t *T, trait Trait) { t.pool.SetTargetTrait(string(trait)) }

// HasTrait reports whether a trait was recorded.
func HasTrait(t *T, trait Trait) bool { return t.pool.HasTargetTrait(string(trait)) }
