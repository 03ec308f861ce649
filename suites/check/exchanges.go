package check

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Exchanges returns the HTTP exchanges of the session in the order in which they
// began; none if the session is on stdio.
func (v *View) Exchanges() []*wire.Exchange {
	return derivedFor(v, "", "exchanges", v.transcript.Exchanges)
}

// ExchangeOf returns the HTTP exchange that a frame belongs to, or nil.
func (v *View) ExchangeOf(e wire.Entry) *wire.Exchange {
	if e.HTTP == nil {
		return nil
	}
	all := v.Exchanges()
	at, ok := slices.BinarySearchFunc(all, e.HTTP.Exchange, func(x *wire.Exchange, n int) int {
		return cmp.Compare(x.Number, n)
	})
	if !ok {
		return nil
	}
	return all[at]
}
