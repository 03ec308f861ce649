package ginkgosuite

import (
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// selection returns which checks of the current container Ginkgo's filters select:
// the engine runs no others. It is called in BeforeAll of the container. Where it
// cannot tell (--focus-file, --skip-file), it selects all.
func selection() func(check.Check) bool {
	suite, _ := ginkgo.GinkgoConfiguration()
	report := ginkgo.CurrentSpecReport()
	labels := func([]string) bool { return true }
	if suite.LabelFilter != "" {
		if filter, err := types.ParseLabelFilter(suite.LabelFilter); err == nil {
			labels = filter
		}
	}
	focus, skip := patterns(suite.FocusStrings), patterns(suite.SkipStrings)
	// The texts and labels of the containers above the area are those of the spec that
	// runs now.
	texts := report.ContainerHierarchyTexts
	texts = texts[:max(0, len(texts)-1)]
	var outer []string
	for _, of := range report.ContainerHierarchyLabels[:max(0, len(report.ContainerHierarchyLabels)-1)] {
		outer = append(outer, of...)
	}
	return func(c check.Check) bool {
		text := strings.Join(append(slices.Clone(texts), c.Area(), c.ID+" "+c.Says), " ")
		return labels(append(slices.Clone(outer), c.Area(), string(c.Level))) &&
			(len(focus) == 0 || matchesAny(focus, text)) && !matchesAny(skip, text)
	}
}

func patterns(texts []string) (out []*regexp.Regexp) {
	for _, t := range texts {
		if re, err := regexp.Compile(t); err == nil {
			out = append(out, re)
		}
	}
	return out
}

func matchesAny(all []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}
