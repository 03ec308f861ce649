package schema

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// matchPatterns makes a string that matches several patterns: it tries strings of
// each pattern, and combinations of two.
func (m *valueMaker) matchPatterns(patterns []jsonschema.Regexp, low, high int, fit func(string) bool) (any, bool) {
	for try := range 30 {
		now := m
		if try > 0 {
			now = m.retry(try)
		}
		first := patterns[try%len(patterns)]
		a, ok := now.matchPattern(first, low, high)
		if !ok {
			return nil, false
		}
		tries := []string{a}
		if missing := low - utf8.RuneCountInString(a); missing > 0 {
			pad := strings.Repeat("x", missing)
			tries = append(tries, a+pad, pad+a)
		}
		if len(patterns) > 1 {
			b, _ := now.matchPattern(patterns[(try+1)%len(patterns)], 0, high)
			pad := strings.Repeat("x", max(1, low-utf8.RuneCountInString(a+b)))
			tries = append(tries, a+b, b+a, a+pad+b, b+pad+a)
		}
		for _, text := range tries {
			if fit(text) {
				return text, true
			}
		}
	}
	return nil, false
}

// matchPattern makes a string that matches a pattern. It tries to make it at least
// low and, unless high is 0, at most high characters long.
func (m *valueMaker) matchPattern(p jsonschema.Regexp, low, high int) (string, bool) {
	ours, ok := p.(*pattern)
	if !ok {
		return "", false
	}
	tree, err := syntax.Parse(ours.re.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	shortest := minLength(tree)
	if high == 0 {
		high = shortest + 40
	}
	w := &textMaker{valueMaker: m, need: low - shortest, room: min(high, maxText) - shortest}
	w.write(tree)
	return w.out.String(), true
}

// A textMaker writes a string along a regular expression.
type textMaker struct {
	*valueMaker
	out  strings.Builder
	need int // characters missing beyond the shortest string
	room int // characters that may be added
}

func (w *textMaker) write(re *syntax.Regexp) {
	w.g.tool.effort.step()
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.out.WriteRune(r)
		}
	case syntax.OpCharClass:
		w.out.WriteRune(w.chooseRune(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.out.WriteRune(w.chooseRune([]rune{'a', 'z'}))
	case syntax.OpCapture:
		w.write(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		least := minLength(re)
		open := slices.DeleteFunc(slices.Clone(re.Sub), func(sub *syntax.Regexp) bool {
			return sub.Op == syntax.OpNoMatch || minLength(sub)-least > max(w.room, 0)
		})
		if len(open) == 0 {
			return
		}
		sub := open[w.choose(len(open))]
		w.use(minLength(sub) - least)
		w.write(sub)
	case syntax.OpStar:
		w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		w.repeat(re.Sub[0], re.Min, re.Max)
	}
}

func (w *textMaker) use(n int) { w.need, w.room = w.need-n, w.room-n }

func (w *textMaker) repeat(sub *syntax.Regexp, low, high int) {
	each := max(1, minLength(sub))
	extra := w.choose(3)
	if w.style != RandomMembers && low == 0 && w.attempts == 0 && w.need <= 0 {
		extra = w.choose(2)
	}
	if w.need > 0 {
		extra = max(extra, (w.need+each-1)/each)
	}
	extra = min(extra, max(w.room, 0)/each)
	if high >= 0 {
		extra = min(extra, high-low)
	}
	w.use(extra * each)
	for range low + extra {
		w.write(sub)
	}
}

// chooseRune chooses a rune of a class, given as pairs of bounds: a letter or a
// digit if it has any.
func (w *textMaker) chooseRune(class []rune) rune {
	var good []rune
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. " {
		if inClass(class, r) {
			good = append(good, r)
		}
	}
	if len(good) > 0 {
		return good[w.choose(len(good))]
	}
	for i := 0; i+1 < len(class); i += 2 {
		for r := class[i]; r <= class[i+1] && r < class[i]+100 && len(good) < 20; r++ {
			if unicode.IsPrint(r) {
				good = append(good, r)
			}
		}
	}
	if len(good) > 0 {
		return good[w.choose(len(good))]
	}
	if len(class) > 0 {
		return class[0]
	}
	return utf8.RuneError
}

func inClass(class []rune, r rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= r && r <= class[i+1] {
			return true
		}
	}
	return false
}

// minLength returns the length of the shortest string of an expression, in
// characters.
func minLength(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return minLength(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * minLength(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += minLength(sub)
		}
	case syntax.OpAlternate:
		n = maxText
		for _, sub := range re.Sub {
			if sub.Op != syntax.OpNoMatch {
				n = min(n, minLength(sub))
			}
		}
	}
	return n
}
