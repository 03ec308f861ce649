package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unusualValues are values that no enumeration contains, and that no lenient reader
// converts to another type.
var unusualValues = []any{"mcpcheck", map[string]any{"mcpcheck": []any{nil}}, json.Number("987654321"),
	json.Number("-98765.5"), []any{map[string]any{"mcpcheck": []any{nil}}}, true, false, nil}

// breakAny breaks the keywords that apply to values of every type, and those of
// numbers and strings.
func (b *breaker) breakAny(s *jsonschema.Schema, v any, path []string) {
	if of := allowedTypes(s); of != anyType {
		for _, wrong := range b.valueOfOtherType(of) {
			b.tryBreak(constraint{keyword: "type", place: path},
				fmt.Sprintf("is %s, not %s", withArticle([]string{typeName(wrong)})[0],
					joinOr(withArticle(s.Types.ToStrings()))), b.replaceAt(path, wrong))
		}
	}
	if s.Enum != nil {
		b.tryBreak(constraint{keyword: "enum", place: path},
			"is not one of "+strings.Join(formatValues(s.Enum.Values), ", "), b.replaceAtEach(path, unusualValues)...)
	}
	if s.Const != nil {
		b.tryBreak(constraint{keyword: "const", place: path}, "is not "+formatValue(*s.Const),
			b.replaceAtEach(path, unusualValues)...)
	}
	b.breakUnions(s, v, path)
	switch typeOf(v) {
	case integerType, fractionType:
		b.breakNumber(s, v.(json.Number), path)
	case stringType:
		b.breakText(s, v.(string), path)
	}
}

func typeName(v any) string {
	switch typeOf(v) {
	case stringType:
		return "string"
	case integerType, fractionType:
		return "number"
	case booleanType:
		return "boolean"
	case objectType:
		return "object"
	case arrayType:
		return "array"
	}
	return "null"
}

// valueOfOtherType returns a value that is of none of some types: a string instead
// of a number, otherwise an object if possible.
func (b *breaker) valueOfOtherType(of typeSet) []any {
	order := []int{1, 0, 4, 2, 5}
	if of&(integerType|fractionType) != 0 && of&stringType == 0 {
		order = []int{0, 1, 4, 5}
	}
	for _, i := range order {
		if typeOf(unusualValues[i])&of == 0 {
			return []any{unusualValues[i]}
		}
	}
	return nil
}

func (b *breaker) replaceAtEach(path []string, values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = b.replaceAt(path, v)
	}
	return out
}

// breakUnions makes values that fit no branch, two branches of oneOf, or the schema
// of not. An object keeps its other members.
func (b *breaker) breakUnions(s *jsonschema.Schema, v any, path []string) {
	overlaid := func(schemas ...*jsonschema.Schema) []any {
		var out []any
		for try := range 4 {
			made, ok := b.retry(try).value(schemas, anyType, len(path)+1)
			if !ok {
				break
			}
			over, isObject := made.(map[string]any)
			under, wasObject := v.(map[string]any)
			if isObject && wasObject {
				both := maps.Clone(under)
				maps.Copy(both, over)
				out = append(out, b.replaceAt(path, both))
			}
			out = append(out, b.replaceAt(path, made))
		}
		return out
	}
	for i, union := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(union) == 0 {
			continue
		}
		keyword := []string{"anyOf", "oneOf"}[i]
		var none []any
		if object, ok := v.(map[string]any); ok {
			bare := maps.Clone(object)
			for _, branch := range union {
				for _, name := range branch.Required {
					delete(bare, name)
				}
			}
			none = append(none, b.replaceAt(path, bare))
		}
		b.tryBreak(constraint{keyword: keyword, place: path}, "fits no branch",
			append(none, b.replaceAtEach(path, unusualValues)...)...)
	}
	for i := range s.OneOf {
		for j := range min(i, 6) {
			b.tryBreak(constraint{keyword: "oneOf", place: path}, "fits more than one branch",
				overlaid(s.OneOf[i], s.OneOf[j])...)
		}
	}
	if s.Not != nil {
		b.tryBreak(constraint{keyword: "not", place: path}, "fits the schema of not", overlaid(s.Not)...)
	}
}

// maxExactInteger bounds the numbers that are made: many readers round larger ones.
var maxExactInteger = big.NewRat(1<<53, 1)

func (b *breaker) breakNumber(s *jsonschema.Schema, v json.Number, path []string) {
	step := big.NewRat(1, 1)
	if s.MultipleOf != nil {
		step = s.MultipleOf
		if allowedTypes(s)&fractionType == 0 {
			step = commonMultiple(step, big.NewRat(1, 1))
		}
	}
	try := func(keyword, than string, bound *big.Rat, towards int64, open bool) {
		if bound == nil {
			return
		}
		k := floor(new(big.Rat).Quo(bound, step))
		at := func() *big.Rat { return new(big.Rat).Mul(new(big.Rat).SetInt(k), step) }
		// The first step beyond the bound; an open bound itself is beyond.
		beyond := func() bool {
			c := at().Cmp(bound) * int(towards)
			return c > 0 || c == 0 && open
		}
		for range 3 {
			if !beyond() {
				k.Add(k, big.NewInt(towards))
			}
		}
		made, ok := decimalOf(at())
		if ok && beyond() && new(big.Rat).Abs(at()).Cmp(maxExactInteger) < 0 {
			b.tryBreak(constraint{keyword: keyword, place: path},
				fmt.Sprintf("is %v, %s %s", made, than, formatRat(bound)), b.replaceAt(path, made))
		}
	}
	try("minimum", "less than", s.Minimum, -1, false)
	try("maximum", "more than", s.Maximum, 1, false)
	try("exclusiveMinimum", "not more than", s.ExclusiveMinimum, -1, true)
	try("exclusiveMaximum", "not less than", s.ExclusiveMaximum, 1, true)
	if s.MultipleOf != nil {
		n, ok := parseRat(v.String())
		if !ok {
			return
		}
		var near []any
		half := new(big.Rat).Quo(s.MultipleOf, big.NewRat(2, 1))
		for _, off := range []*big.Rat{big.NewRat(1, 1), half, big.NewRat(2, 1), big.NewRat(3, 1), big.NewRat(4, 1),
			big.NewRat(6, 1)} {
			for _, by := range []*big.Rat{new(big.Rat).Add(n, off), new(big.Rat).Sub(n, off)} {
				if made, ok := decimalOf(by); ok {
					near = append(near, b.replaceAt(path, made))
				}
			}
		}
		b.tryBreak(constraint{keyword: "multipleOf", place: path}, "is not a multiple of "+formatRat(s.MultipleOf),
			near...)
	}
}

func countNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxInvalidText bounds the strings that are made too long, in characters.
const maxInvalidText = 10_000

func (b *breaker) breakText(s *jsonschema.Schema, v string, path []string) {
	limited := func(low, high *int) any {
		other := *s
		other.MinLength, other.MaxLength = low, high
		text, _ := b.text([]*jsonschema.Schema{&other})
		return b.replaceAt(path, text)
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		n := *s.MinLength - 1
		short := string([]rune(v)[:min(n, utf8.RuneCountInString(v))])
		b.tryBreak(constraint{keyword: "minLength", place: path}, "is shorter than "+countNoun(n+1, "character"),
			b.replaceAt(path, short), limited(nil, &n))
	}
	if s.MaxLength != nil && *s.MaxLength < maxInvalidText {
		n := *s.MaxLength + 1
		long := v + strings.Repeat("x", max(0, n-utf8.RuneCountInString(v)))
		b.tryBreak(constraint{keyword: "maxLength", place: path}, "is longer than "+countNoun(n-1, "character"),
			b.replaceAt(path, long), limited(&n, nil))
	}
	if s.Pattern == nil {
		return
	}
	var others []any
	for _, text := range []string{"mcpcheck", "MCPCHECK", "!", "~ ~", "0", "-", "", " ", "a/b", "é", v + "!", "!" + v,
		strings.ToUpper(v), strings.ToLower(v)} {
		n := utf8.RuneCountInString(text)
		if s.MinLength != nil && n > 0 && n < *s.MinLength && *s.MinLength < maxInvalidText {
			text += strings.Repeat(text[len(text)-1:], *s.MinLength-n)
		}
		if s.MaxLength != nil {
			text = string([]rune(text)[:min(utf8.RuneCountInString(text), *s.MaxLength)])
		}
		if utf8.ValidString(text) && !s.Pattern.MatchString(text) {
			others = append(others, b.replaceAt(path, text))
		}
	}
	b.tryBreak(constraint{keyword: "pattern", place: path}, "does not match "+s.Pattern.String(), others...)
}

// breakArray breaks the keywords of arrays.
func (b *breaker) breakArray(s *jsonschema.Schema, v []any, path []string) {
	more := func(n int, also ...*jsonschema.Schema) []any {
		out := slices.Clone(v)
		for len(out) < n {
			item, ok := b.item(append(slices.Clone(itemSchemas(s, len(out))), also...), len(path)+1, out, s.UniqueItems)
			if !ok {
				return nil
			}
			out = append(out, item)
		}
		return out
	}
	set := func(list []any) any {
		if list == nil {
			return nil
		}
		return b.replaceAt(path, list)
	}
	if n := valueOrZero(s.MinItems); n > 0 && len(v) >= n {
		b.tryBreak(constraint{keyword: "minItems", place: path},
			fmt.Sprintf("has %s, less than %d", countNoun(n-1, "item"), n), b.replaceAt(path, slices.Clone(v[:n-1])))
	}
	if s.MaxItems != nil && *s.MaxItems < maxItemsMade {
		n := *s.MaxItems + 1
		b.tryBreak(constraint{keyword: "maxItems", place: path},
			fmt.Sprintf("has %s, more than %d", countNoun(n, "item"), n-1), set(more(n)))
	}
	if s.UniqueItems && len(v) > 0 {
		twice := []any{b.replaceAt(path, append(slices.Clone(v), v[0]))}
		if len(v) > 1 {
			other := slices.Clone(v)
			other[len(v)-1] = v[0]
			twice = append(twice, b.replaceAt(path, other))
		}
		b.tryBreak(constraint{keyword: "uniqueItems", place: path, repairable: true}, "has an item twice", twice...)
	}
	if over := len(v); over < maxItemsMade {
		end := append(slices.Clone(v), "mcpcheck")
		for i, closed := range []*jsonschema.Schema{s.Items2020, s.UnevaluatedItems} {
			if closed != nil && closed.Bool != nil && !*closed.Bool {
				b.tryBreak(constraint{keyword: []string{"items", "unevaluatedItems"}[i],
					place: appendStep(path,
						fmt.Sprint(over)), reportedKeyword: "false"}, "is an item too many", b.replaceAt(path, end))
			}
		}
		if s.AdditionalItems == false {
			b.tryBreak(constraint{keyword: "additionalItems", place: path}, "has an item too many",
				b.replaceAt(path, end))
		}
	}
	b.breakContains(s, v, path, more)
}

func (b *breaker) breakContains(s *jsonschema.Schema, v []any, path []string,
	more func(n int, also ...*jsonschema.Schema) []any) {
	if s.Contains == nil {
		return
	}
	if n := containsAtLeast(s); n > 0 {
		keyword := "contains"
		if s.MinContains != nil {
			keyword = "minContains"
		}
		others := slices.Clone(v)
		for i, item := range others {
			for try := range 20 {
				if s.Contains.Validate(others[i]) != nil {
					break
				}
				others[i] = item
				free := b.retry(2 + try)
				if other, ok := free.value(itemSchemas(s, i), anyType, len(path)+1); ok {
					others[i] = other
				}
			}
		}
		b.tryBreak(constraint{keyword: keyword, place: path}, "lacks an item that it must contain",
			b.replaceAt(path, others), b.replaceAt(path, []any{}))
	}
	if s.MaxContains != nil && *s.MaxContains < maxItemsMade {
		var out []any
		for n := len(v) + 1; n <= len(v)+*s.MaxContains+1 && n < maxItemsMade; n++ {
			if long := more(n, s.Contains); long != nil {
				out = append(out, b.replaceAt(path, long))
			}
		}
		b.tryBreak(constraint{keyword: "maxContains", place: path},
			fmt.Sprintf("has more than %d of the items that it contains", *s.MaxContains), out...)
	}
}
