package main

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/secret"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// secretParam matches the names of query parameters whose values are secret.
var secretParam = regexp.MustCompile(`(?i)token|key|secret|passw|auth|sig|cred|code|session`)

// collectSecrets records what no output may show: the values of --header, those of --env
// that the arguments do not show as well, and the password and tokens in the URL of the
// target.
func (f *flags) collectSecrets(args []string) {
	f.secrets = &secret.Set{}
	for _, line := range f.headers {
		_, value, _ := strings.Cut(line, ":")
		f.secrets.AddToken(value)
		if scheme, token, ok := strings.Cut(strings.TrimSpace(value), " "); ok && scheme != "" {
			f.secrets.AddToken(token)
		}
	}
	shown := strings.Join(append([]string{f.url, f.cwd}, args...), " ")
	for _, e := range f.env {
		if _, value, _ := strings.Cut(e, "="); !strings.Contains(shown, value) {
			f.secrets.Add(value)
		}
	}
	for _, address := range append([]string{f.url}, args...) {
		if u, err := url.Parse(address); err == nil && isURL(address) {
			password, _ := u.User.Password()
			f.secrets.AddToken(password)
			for name, values := range u.Query() {
				for _, v := range values {
					if secretParam.MatchString(name) {
						f.secrets.AddToken(v)
					}
				}
			}
		}
	}
}

// hideIn returns an error without the secrets in its text.
func (f *flags) hideIn(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	hidden := f.secrets.Hide(text)
	if hidden == text {
		return err
	}
	var exit exitError
	if errors.As(err, &exit) {
		return exitError{exit.code, errors.New(hidden)}
	}
	return errors.New(hidden)
}

// hideOutcome returns the function that receives outcomes without the secrets in what a
// line of progress shows.
func (f *flags) hideOutcome(next func(reports.Outcome)) func(reports.Outcome) {
	return func(o reports.Outcome) {
		o.Detail = f.secrets.Hide(o.Detail)
		next(o)
	}
}

// commandLine returns a command line for a POSIX shell. In place of a value of --header
// or --env that is secret, it refers to the environment: to AUTHORIZATION for the field
// of that name, and to the variable itself.
func (f *flags) commandLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = transport.ShellQuote([]string{arg})
		if i == 0 || f.secrets.Hide(arg) == arg {
			continue
		}
		switch args[i-1] {
		case "--env":
			name, _, _ := strings.Cut(arg, "=")
			words[i] = name + `="$` + name + `"`
		case "--header":
			name, _, _ := strings.Cut(arg, ":")
			words[i] = `"` + name + `: $` + variableFor(name) + `"`
		default:
			words[i] = transport.ShellQuote([]string{f.secrets.Hide(arg)})
		}
	}
	return strings.Join(words, " ")
}

// variableFor returns the name of the environment variable for a header field.
func variableFor(field string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(field))
}
