package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// flattenErrors returns the leaves of the engine's error tree, each once. Of a
// union it returns those of the nearest branch.
func flattenErrors(e *jsonschema.ValidationError) []Violation {
	var out []Violation
	for _, v := range collectLeaves(e) {
		if !slices.ContainsFunc(out, func(o Violation) bool { return o == v }) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b Violation) int { return strings.Compare(a.InstancePath, b.InstancePath) })
	return out
}

func collectLeaves(e *jsonschema.ValidationError) []Violation {
	if len(e.Causes) == 0 {
		return []Violation{violationOf(e)}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return nearestBranch(e)
	case *kind.PropertyNames:
		return []Violation{violationOf(e)} // a name has no place in the instance
	}
	var out []Violation
	for _, c := range e.Causes {
		out = append(out, collectLeaves(c)...)
	}
	return out
}

// nearestBranch returns the violations of one branch of a union: one that allows
// the type of the value, then that with the deepest violation, then that with the
// fewest.
func nearestBranch(e *jsonschema.ValidationError) []Violation {
	at := pointerOf(e.InstanceLocation)
	var best []Violation
	var bestScore [3]int
	for _, c := range e.Causes {
		found := collectLeaves(c)
		score := [3]int{1, 0, -len(found)}
		for _, v := range found {
			if v.Keyword == "type" && v.InstancePath == at {
				score[0] = 0
			}
			score[1] = max(score[1], strings.Count(v.InstancePath, "/"))
		}
		if best == nil || slices.Compare(score[:], bestScore[:]) > 0 {
			best, bestScore = found, score
		}
	}
	return best
}

func pointerOf(location []string) string {
	var b strings.Builder
	for _, step := range location {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(step))
	}
	return b.String()
}

func violationOf(e *jsonschema.ValidationError) Violation {
	v := Violation{InstancePath: pointerOf(e.InstanceLocation)}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		v.Keyword = path[0]
	}
	v.Message = message(e.ErrorKind, v.Keyword)
	return v
}

func message(k jsonschema.ErrorKind, keyword string) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is " + joinOr(withArticle([]string{k.Got})) + ", not " + joinOr(withArticle(k.Want))
	case *kind.Required:
		if len(k.Missing) > 1 {
			return "the members " + strings.Join(k.Missing, ", ") + " are missing"
		}
		return "the member " + strings.Join(k.Missing, "") + " is missing"
	case *kind.Enum:
		return formatValue(k.Got) + " is not one of " + strings.Join(formatValues(k.Want), ", ")
	case *kind.Const:
		return formatValue(k.Got) + " is not " + formatValue(k.Want)
	case *kind.AdditionalProperties:
		return "has members that are not allowed: " + strings.Join(k.Properties, ", ")
	case *kind.PropertyNames:
		return "the name " + formatValue(k.Property) + " is not allowed"
	case *kind.Pattern:
		return fmt.Sprintf("%s does not match %s", formatValue(k.Got), k.Want)
	case *kind.Minimum:
		return formatRat(k.Got) + " is less than " + formatRat(k.Want)
	case *kind.Maximum:
		return formatRat(k.Got) + " is more than " + formatRat(k.Want)
	case *kind.ExclusiveMinimum:
		return formatRat(k.Got) + " is not more than " + formatRat(k.Want)
	case *kind.ExclusiveMaximum:
		return formatRat(k.Got) + " is not less than " + formatRat(k.Want)
	case *kind.MultipleOf:
		return formatRat(k.Got) + " is not a multiple of " + formatRat(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("is %d characters long, less than %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("is %d characters long, more than %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, less than %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, more than %d", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d members, less than %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d members, more than %d", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Format:
		return formatValue(k.Got) + " is not a valid " + k.Want
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.OneOf:
		return "fits more than one branch"
	}
	if keyword == "" {
		keyword = strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", k), "*kind."))
	}
	return "breaks " + keyword
}

func formatValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return wire.Clip(string(text), describeLimit)
}

func formatValues(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if s, ok := v.(string); ok {
			out[i] = s
		} else {
			out[i] = formatValue(v)
		}
	}
	return out
}

func formatRat(r *big.Rat) string {
	if r.IsInt() {
		return wire.Clip(r.Num().String(), describeLimit)
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
