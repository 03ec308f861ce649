package suites

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// An Option changes what is run and how. The functions of this package that return
// one say what they change; an invalid value is an error of the run.
type Option interface{ apply(*settings) error }

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// settings are what the options change.
type settings struct {
	engine     engine.Options
	only, skip []string
	kind       transport.Kind
	header     http.Header
	tls        *tls.Config
	env        []string
	dir        string
}

// Revisions judges these revisions only.
func Revisions(revisions ...Revision) Option {
	return option(func(s *settings) error {
		for _, rev := range revisions {
			if !slices.Contains(spec.Revisions(), rev) {
				return fmt.Errorf("suites: %q is no published revision", rev)
			}
		}
		s.engine.Revisions = revisions
		return nil
	})
}

// Only selects the checks whose id matches one of the globs ("tools.*", "pagination").
func Only(globs ...string) Option {
	return option(func(s *settings) error { s.only = append(s.only, globs...); return nil })
}

// Skip leaves out the checks whose id matches one of the globs.
func Skip(globs ...string) Option {
	return option(func(s *settings) error { s.skip = append(s.skip, globs...); return nil })
}

// AllowTools permits calls of the named tools although they are not marked
// read-only; "all" permits all tools.
func AllowTools(names ...string) Option {
	return option(func(s *settings) error {
		s.engine.Allow = func(tool string) bool { return slices.Contains(names, "all") || slices.Contains(names, tool) }
		return nil
	})
}

// Profile says what the target offers: "official" for the fixtures of the public
// conformance contract, whose documented results are then checked, too.
func Profile(name string) Option {
	return option(func(s *settings) error {
		if name != "" && name != catalog.Official {
			return fmt.Errorf("suites: there is no profile %q; the only one is %q", name, catalog.Official)
		}
		s.engine.Profile = name
		return nil
	})
}

// Transport sets the transport: "stdio", "streamable-http" or "sse". Without it the
// transport follows from the target.
func Transport(name string) Option {
	return option(func(s *settings) error {
		switch name {
		case "stdio":
			s.kind = transport.Stdio
		case "streamable-http", "http":
			s.kind = transport.HTTP
		case "sse":
			s.kind = transport.SSE
		default:
			return fmt.Errorf("suites: there is no transport %q; there are stdio, streamable-http and sse", name)
		}
		return nil
	})
}

// Header sends a header field with every HTTP request.
func Header(name, value string) Option {
	return option(func(s *settings) error {
		if s.header == nil {
			s.header = http.Header{}
		}
		s.header.Add(name, value)
		return nil
	})
}

// TLS sets the configuration of https connections.
func TLS(config *tls.Config) Option {
	return option(func(s *settings) error { s.tls = config; return nil })
}

// Env adds variables ("NAME=value") to the environment of a Command.
func Env(variables ...string) Option {
	return option(func(s *settings) error { s.env = append(s.env, variables...); return nil })
}

// Dir sets the working directory of a Command.
func Dir(path string) Option {
	return option(func(s *settings) error { s.dir = path; return nil })
}

// Timeout sets how long an answer is waited for: 10 s without it.
func Timeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("suites: a timeout of %s", d)
		}
		s.engine.Session.Timeout = d
		return nil
	})
}

// StartTimeout sets how long the first answer of a process is waited for: 60 s
// without it.
func StartTimeout(d time.Duration) Option {
	return option(func(s *settings) error { s.engine.Session.StartTimeout = d; return nil })
}

// Deadline bounds the whole run; what was not judged by then is not-run.
func Deadline(d time.Duration) Option {
	return option(func(s *settings) error { s.engine.Deadline = d; return nil })
}

// Serial never has two instances of the target at once.
func Serial() Option {
	return option(func(s *settings) error { s.engine.Session.Serial = true; return nil })
}

// Strict makes Test, TestClient and ginkgosuite fail on warnings, too.
func Strict() Option {
	return option(func(s *settings) error { s.engine.Strict = true; return nil })
}

// read applies options to the defaults.
func read(options []Option) (*settings, error) {
	s := &settings{engine: engine.Options{Session: session.DefaultOptions()}}
	for _, o := range options {
		if err := o.apply(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// newEngine returns an engine for a target, restricted to one revision if rev is not
// "".
func newEngine(t Target, options []Option, client bool, rev spec.Revision) (*engine.Engine, error) {
	if t.opened != nil {
		return t.opened, nil
	}
	if t.server == nil {
		return nil, fmt.Errorf("suites: the zero Target is no target: use Command, URL or InProcess")
	}
	s, err := read(options)
	if err != nil {
		return nil, err
	}
	if rev != "" {
		s.engine.Revisions = []spec.Revision{rev}
	}
	role := wire.Server
	if client {
		role = wire.Client
	}
	checks, err := catalog.Select(catalog.Of(role, catalog.Checks()), s.only, s.skip)
	if err != nil {
		return nil, fmt.Errorf("suites: %w", err)
	}
	s.engine.Checks = catalog.InProfile(s.engine.Profile, checks)
	if client {
		target, err := t.client(s)
		if err != nil {
			return nil, err
		}
		return engine.NewClient(target, s.engine)
	}
	target, err := t.server(s)
	if err != nil {
		return nil, err
	}
	s.engine.Confirm = t.process
	return engine.New(target, s.engine)
}

// isStrict reports whether options contain Strict.
func isStrict(options []Option) bool {
	s, err := read(options)
	return err == nil && s.engine.Strict
}
