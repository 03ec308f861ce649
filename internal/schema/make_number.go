package schema

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A numberRange is the numbers within bounds that are multiples of a step.
type numberRange struct {
	low, high         *big.Rat // nil: unbounded
	openLow, openHigh bool     // the bound itself is excluded
	step              *big.Rat // nil: any number
}

func rangeOf(f []*jsonschema.Schema, whole bool) numberRange {
	var n numberRange
	if whole {
		n.step = big.NewRat(1, 1)
	}
	for _, s := range f {
		n.raiseLow(s.Minimum, false)
		n.raiseLow(s.ExclusiveMinimum, true)
		n.lowerHigh(s.Maximum, false)
		n.lowerHigh(s.ExclusiveMaximum, true)
		if s.MultipleOf != nil {
			n.step = commonMultiple(n.step, s.MultipleOf)
		}
	}
	return n
}

func (n *numberRange) raiseLow(bound *big.Rat, open bool) {
	if bound != nil && (n.low == nil || bound.Cmp(n.low) > 0 || open && bound.Cmp(n.low) == 0) {
		n.low, n.openLow = bound, open
	}
}

func (n *numberRange) lowerHigh(bound *big.Rat, open bool) {
	if bound != nil && (n.high == nil || bound.Cmp(n.high) < 0 || open && bound.Cmp(n.high) == 0) {
		n.high, n.openHigh = bound, open
	}
}

// commonMultiple returns the least common multiple of two numbers.
func commonMultiple(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	x, y := new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(b.Num(), a.Denom())
	multiple := new(big.Int).Div(new(big.Int).Mul(x, y), new(big.Int).GCD(nil, nil, x, y))
	return new(big.Rat).SetFrac(multiple, new(big.Int).Mul(a.Denom(), b.Denom()))
}

// number makes a number within the bounds: near to 1, and a fraction only if they
// require one.
func (m *valueMaker) number(f []*jsonschema.Schema, whole bool) (any, bool) {
	n := rangeOf(f, whole)
	if n.step != nil {
		return m.chooseInRange(n)
	}
	ten := big.NewRat(1, 10)
	n.step = big.NewRat(1, 1)
	if m.style == RandomMembers {
		for range m.choose(3) {
			n.step = new(big.Rat).Mul(n.step, ten)
		}
	}
	for range 40 { // decimals
		if v, ok := m.chooseInRange(n); ok {
			return v, true
		}
		n.step = new(big.Rat).Mul(n.step, ten)
	}
	return nil, false
}

// maxDistance is how many steps from the simplest number others are chosen.
const maxDistance = 50

// chooseInRange chooses a number of a range.
func (m *valueMaker) chooseInRange(n numberRange) (any, bool) {
	one := big.NewInt(1)
	k := new(big.Int).Set(one)
	var first, last *big.Int
	if n.low != nil {
		first = floor(new(big.Rat).Quo(n.low, n.step))
		if at := new(big.Rat).Mul(new(big.Rat).SetInt(first), n.step).Cmp(n.low); at < 0 || at == 0 && n.openLow {
			first.Add(first, one)
		}
		if k.Cmp(first) < 0 {
			k.Set(first)
		}
	}
	if n.high != nil {
		last = floor(new(big.Rat).Quo(n.high, n.step))
		if new(big.Rat).Mul(new(big.Rat).SetInt(last), n.step).Cmp(n.high) == 0 && n.openHigh {
			last.Sub(last, one)
		}
		if first != nil && first.Cmp(last) > 0 {
			return nil, false
		}
		if k.Cmp(last) > 0 {
			k.Set(last)
		}
	}
	if n.low == nil && n.high == nil && m.style == RandomMembers && m.choose(4) == 1 {
		far := []int64{0, -1, 1 << 31, -(1 << 31), 1<<53 - 1}
		k.SetInt64(far[m.choose(len(far))])
		return decimalOf(new(big.Rat).Mul(new(big.Rat).SetInt(k), n.step))
	}
	reach := 3
	if m.style == RandomMembers {
		reach = maxDistance
	}
	// Above k if the range has numbers there, else below.
	at := int64(m.choose(reach))
	up := new(big.Int).Add(k, big.NewInt(at))
	if last != nil && up.Cmp(last) > 0 {
		up.Sub(k, new(big.Int).Sub(up, last))
		if first != nil && up.Cmp(first) < 0 {
			up.Set(first)
		}
	}
	return decimalOf(new(big.Rat).Mul(new(big.Rat).SetInt(up), n.step))
}

func floor(r *big.Rat) *big.Int {
	// Div is Euclidean, which equals the floor for positive denominators.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// decimalOf returns a number as JSON. It reports whether it has finitely many
// decimals.
func decimalOf(r *big.Rat) (any, bool) {
	if r.IsInt() {
		return json.Number(r.Num().String()), true
	}
	digits, exact := r.FloatPrec()
	if !exact {
		return nil, false
	}
	return json.Number(strings.TrimSuffix(strings.TrimRight(r.FloatString(digits), "0"), ".")), true
}
