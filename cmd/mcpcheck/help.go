package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTemplate shows the examples first, since most readers look for one.
// cobraExamples and cobraFlags are the parts of cobra's own template that show the examples
// later and the flags in one list.
const (
	helpTemplate = `{{if .HasExample}}Examples:
{{.Example}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{.UsageString}}`
	cobraExamples = `{{if .HasExample}}

Examples:
{{.Example}}{{end}}`
	cobraFlags = `Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}`
)

// A flagGroup is flags that the help shows together.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are the groups of flags. Flags in none are shown last.
var flagGroups = []flagGroup{
	{"Target", []string{"url", "transport", "env", "cwd", "header", "ca", "serial", "reference"}},
	{"Checks", []string{"spec", "only", "skip", "level", "rules", "profile", "config", "allow-tools", "seed"}},
	{"Verdict", []string{"strict", "baseline", "write-baseline"}},
	{"Time", []string{"timeout", "start-timeout", "deadline", "time"}},
	{"Output", []string{"json", "junit", "html", "out", "quiet", "verbose", "no-color"}},
}

// setHelp sets the help of a command and those below it.
func setHelp(root *cobra.Command) {
	root.SetHelpTemplate(helpTemplate)
	cobra.AddTemplateFunc("groupedFlags", groupedFlags)
	usage := strings.Replace(root.UsageTemplate(), cobraExamples, "", 1)
	root.SetUsageTemplate(strings.Replace(usage, cobraFlags, "{{groupedFlags .LocalFlags}}", 1))
}

// groupedFlags returns the help of flags by group, in one list if they are few.
func groupedFlags(flags *pflag.FlagSet) string {
	const few = 8
	groups := flagGroups
	count := 0
	flags.VisitAll(func(*pflag.Flag) { count++ })
	if count <= few {
		groups = nil
	}
	var out []string
	add := func(title string, has func(name string) bool) {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		flags.VisitAll(func(f *pflag.Flag) {
			if has(f.Name) {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			out = append(out, title+":\n"+flagUsages(set))
		}
	}
	var grouped []string
	for _, g := range groups {
		add(g.title, func(name string) bool { return slices.Contains(g.names, name) })
		grouped = append(grouped, g.names...)
	}
	rest := "Flags"
	if len(out) > 0 {
		rest = "Other"
	}
	add(rest, func(name string) bool { return !slices.Contains(grouped, name) })
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// flagUsages returns the help of flags. Flags whose value is optional are shown as
// they are written, --strict[=all], in as many columns as pflag uses.
func flagUsages(flags *pflag.FlagSet) string {
	text := flags.FlagUsages()
	for from, to := range map[string]string{
		`--reference fault[="conforming"]`: "--reference[=fault]",
		`--strict string[="warn"]`:         "--strict[=all]",
	} {
		text = strings.Replace(text, from, fmt.Sprintf("%-*s", len(from), to), 1)
	}
	return text
}
