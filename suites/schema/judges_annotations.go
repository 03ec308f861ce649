package schema

import (
	"fmt"
	"regexp"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// annotationJudges returns the judges of the annotations of resources, templates and
// content blocks (schema.ts#Annotations). The annotations of tools are another type, and
// the checks of what annotations stand in judge that they are an object.
func annotationJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.annotations.audience",
			Says:  "the audience in annotations is an array of roles",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-annotations-audience"},
			Idle:  "no annotations have an audience",
			Hint:  "give a resource or a content block annotations with audience",
			Judge: func(j *check.J) {
				judgeAnnotation(j, "audience", func(v gjson.Result) string {
					if !v.IsArray() {
						return "is " + wire.TypeName(v) + ", not an array"
					}
					for _, r := range v.Array() {
						if !isRole(r) {
							return fmt.Sprintf("holds %s, which is no role", wire.Clip(r.Raw, 40))
						}
					}
					return ""
				})
			},
		},
		{
			ID:    "schema.annotations.priority",
			Says:  "the priority in annotations is a number from 0 to 1",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-annotations-priority"},
			Idle:  "no annotations have a priority",
			Hint:  "give a resource or a content block annotations with priority",
			Judge: func(j *check.J) {
				judgeAnnotation(j, "priority", func(v gjson.Result) string {
					if v.Type != gjson.Number {
						return "is " + wire.TypeName(v) + ", not a number"
					}
					if v.Num < 0 || v.Num > 1 {
						return "is " + wire.Clip(v.Raw, 40) + ", not from 0 to 1"
					}
					return ""
				})
			},
		},
		{
			ID:    "schema.annotations.last-modified",
			Says:  "lastModified in annotations is a string in a form of ISO 8601",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"schema-annotations-last-modified"},
			Idle:  "no annotations have a lastModified",
			Hint:  "give a resource or a content block annotations with lastModified",
			Judge: func(j *check.J) {
				judgeAnnotation(j, "lastModified", func(v gjson.Result) string {
					if v.Type != gjson.String {
						return "is " + wire.TypeName(v) + ", not a string"
					}
					if !iso8601.MatchString(v.Str) {
						return fmt.Sprintf("is %q, in no form of ISO 8601", wire.Clip(v.Str, 40))
					}
					return ""
				})
			},
		},
	}
}

// judgeAnnotation judges one member of annotations; problem returns what is wrong with
// its value, or "".
func judgeAnnotation(j *check.J, member string, problem func(v gjson.Result) string) {
	check.Each(j, transcript.Members(j, "annotations"), func(a transcript.Member) bool {
		v := a.Value.Get(member)
		if a.Member.Definition == "Tool" || !a.Value.IsObject() || !v.Exists() {
			return false
		}
		if why := problem(v); why != "" {
			j.Fail(a.Entry, "%s: %s/%s %s", a.Name, a.Path, member, why)
		}
		return true
	})
}

// isRole reports whether a value is a role (schema.ts#Role).
func isRole(v gjson.Result) bool {
	return v.Type == gjson.String && (v.Str == "user" || v.Str == "assistant")
}

// iso8601 matches the extended and the basic form of dates, by month, week or day of
// the year, with or without time and zone. RFC 3339, a profile of it, allows a space in
// place of the T.
var iso8601 = regexp.MustCompile(`^[0-9]{4}(` +
	`-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?|` +
	`(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|` +
	`-?W(0[1-9]|[1-4][0-9]|5[0-3])(-?[1-7])?|` +
	`-?([0-2][0-9]{2}|3[0-6][0-9])` +
	`)?([Tt ]([01][0-9]|2[0-4])(:?[0-5][0-9](:?([0-5][0-9]|60))?)?([.,][0-9]+)?` +
	`([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?$`)
