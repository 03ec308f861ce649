package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// The values of --transport.
const (
	transportAuto  = "auto"
	transportHTTP  = "streamable-http"
	transportSSE   = "sse"
	transportStdio = "stdio"
)

// addHTTP declares the flags of servers over HTTP.
func (f *flags) addHTTP(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.transport, "transport", transportAuto,
		"speak to the target over this `transport`: stdio, streamable-http, sse, or auto to detect it")
	s.StringArrayVar(&f.headers, "header", nil,
		"send `'Name: value'` with every HTTP request; no report shows the value (repeatable)")
	s.StringVar(&f.ca, "ca", "", "also trust the certificates in this PEM `file`, for an https URL")
	s.StringVar(&f.url, "url", "", "start the command and test what it serves at this `URL`")
	completeFlag(cmd, "transport", func() []string {
		return []string{transportAuto, transportHTTP, transportSSE, transportStdio}
	})
}

// An httpTarget is a server at a URL that the command line names.
type httpTarget struct {
	endpoint *transport.Endpoint
	kind     transport.Kind                  // "" to detect it
	command  []string                        // that starts the server, or nil
	restart  func(ctx context.Context) error // set by open where there is a command
}

// httpTarget returns the server at a URL that the arguments name, nil where the
// target is spoken to over stdio. Of the arguments, dash stand before --; it is
// negative where there is none.
func (f *flags) httpTarget(args []string, dash int) (*httpTarget, error) {
	address, command, err := f.address(args, dash)
	if err != nil {
		return nil, err
	}
	header, err := readHeaders(f.headers)
	if err != nil {
		return nil, err
	}
	kind, err := f.transportKind()
	if err != nil {
		return nil, err
	}
	trusted, err := f.trustedCertificates()
	switch {
	case err != nil:
		return nil, err
	case f.reference != "" && (header != nil || f.url != "" || trusted != nil):
		return nil, errors.New("--reference starts its own server: --url, --header and --ca do not apply")
	case f.reference != "":
		return nil, nil
	case address == "" && kind != "" && kind != transport.Stdio:
		return nil, fmt.Errorf("--transport %s needs a URL", f.transport)
	case address == "" && header != nil:
		return nil, errors.New("--header needs a URL: it applies to servers over HTTP")
	case trusted != nil && !strings.HasPrefix(address, "https://"):
		return nil, errors.New("--ca needs an https URL")
	case address == "":
		return nil, nil
	case kind == transport.Stdio:
		return nil, fmt.Errorf("--transport stdio needs a command, not the URL %s", redactURL(address))
	}
	endpoint, err := transport.NewEndpoint(address,
		transport.HTTPOptions{Header: header, TLS: trusted, DialTimeout: f.timeout})
	return &httpTarget{endpoint: endpoint, kind: kind, command: command}, err
}

// hostAndPort matches what is a URL but for its scheme.
var hostAndPort = regexp.MustCompile(`^(localhost(:\d+)?|[\w.-]+:\d+|\[[0-9a-f:]+\](:\d+)?)(/.*)?$`)

// address returns the URL of the target, "" where the arguments name none, and
// the command that starts the server there.
func (f *flags) address(args []string, dash int) (address string, command []string, err error) {
	switch {
	case f.reference != "":
		return f.url, nil, nil
	case f.url == "" && len(args) > 0 && isURL(args[0]) && dash != 0:
		if len(args) > 1 {
			return "", nil, fmt.Errorf("unexpected argument %q after the URL; "+
				"to start a command that serves there, use --url %s -- CMD", args[1], args[0])
		}
		return args[0], nil, nil
	case f.url == "" && len(args) > 0 && dash != 0 && hostAndPort.MatchString(args[0]):
		return "", nil, fmt.Errorf("%s is no command and no URL; did you mean http://%[1]s?", args[0])
	case f.url == "":
		return "", nil, nil
	case hostAndPort.MatchString(f.url):
		return "", nil, fmt.Errorf("--url %s is no URL; did you mean http://%[1]s?", f.url)
	case len(args) == 0:
		return "", nil, fmt.Errorf("--url %s needs the command that starts the server after --; "+
			"for a server that runs already, give the URL without --url", f.url)
	case dash != 0:
		return "", nil, fmt.Errorf("unexpected argument %q before --; "+
			"with --url, give only the command that starts the server, after --", args[0])
	}
	return f.url, args, nil
}

// trustedCertificates returns the TLS settings that trust the certificates of
// --ca beside those of the system, nil without --ca.
func (f *flags) trustedCertificates() (*tls.Config, error) {
	if f.ca == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // this system has none
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca: %s has no PEM certificate", f.ca)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// transportKind returns the transport that --transport names, "" where it is to
// be detected or follows from the target.
func (f *flags) transportKind() (transport.Kind, error) {
	switch f.transport {
	case transportHTTP, string(transport.HTTP):
		return transport.HTTP, nil
	case transportSSE:
		return transport.SSE, nil
	case transportStdio:
		return transport.Stdio, nil
	case transportAuto, "":
		return "", nil
	}
	return "", fmt.Errorf("--transport must be %s, %s, %s or %s, not %q",
		transportAuto, transportHTTP, transportSSE, transportStdio, f.transport)
}

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// redactURL returns a URL without its password.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Redacted()
}

// isTransportField reports whether the transports set a header field.
func isTransportField(name string) bool {
	switch name {
	case "Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Transfer-Encoding":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// readHeaders reads the values of --header. Its errors leave the value out, which
// may be secret.
func readHeaders(lines []string) (http.Header, error) {
	var out http.Header
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
			return nil, errors.New("--header must be 'Name: value'; one value has no colon")
		case !isFieldName(name):
			return nil, fmt.Errorf("--header: %q is not a valid field name", name)
		case strings.ContainsFunc(value, isControl):
			return nil, fmt.Errorf("--header: the value of %s contains a control character", name)
		case isTransportField(http.CanonicalHeaderKey(name)):
			return nil, fmt.Errorf("--header: %s is set by mcpcheck itself", name)
		}
		if out == nil {
			out = http.Header{}
		}
		out.Add(name, value)
	}
	return out, nil
}

// isFieldName reports whether a text is a token, as the name of a header field
// must be (RFC 9110, section 5.1).
func isFieldName(text string) bool {
	isTokenChar := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !isTokenChar(r) })
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// headerNames returns the names of the header fields of --header.
func (f *flags) headerNames() []string {
	var out []string
	for _, line := range f.headers {
		name, _, _ := strings.Cut(line, ":")
		out = append(out, name)
	}
	return out
}

// maskedHeaders returns the values of --header with the field values masked.
func (f *flags) maskedHeaders() []string {
	out := f.headerNames()
	for i, name := range out {
		out[i] = name + ": …"
	}
	return out
}

// words name the target on a command line.
func (t *httpTarget) words() []string {
	if t.command == nil {
		return []string{t.endpoint.Redacted()}
	}
	return append([]string{"--url", t.endpoint.Redacted(), "--"}, t.command...)
}

// open starts the server where a command is given, and detects its transport. It
// returns a note on the transport, and the function that ends the server and
// returns how the server ended before, "" if it had not.
func (t *httpTarget) open(ctx context.Context, f *flags) (
	target transport.HTTPTarget, note string, end func() (early string), err error,
) {
	end = func() string { t.endpoint.Close(); return "" }
	target = transport.HTTPTarget{Endpoint: t.endpoint, Kind: t.kind}
	o := f.session()
	if t.command != nil {
		guard, err := startGuard()
		if err != nil {
			return target, "", end, err
		}
		h := &hosted{
			command: transport.Command{Argv: t.command, Env: f.env, Dir: f.cwd, Guard: guard},
			at:      t.endpoint, startTimeout: f.startTimeout, grace: o.Grace,
		}
		if err := h.Restart(ctx); err != nil {
			guard.Close()
			return target, "", end, err
		}
		target.Server, t.restart = h, h.Restart
		end = func() string {
			t.endpoint.Close()
			early := h.close()
			guard.Close()
			return early
		}
	}
	if t.kind != "" {
		return target, fmt.Sprintf("transport: %s, as requested", f.transport), end, nil
	}
	found := ""
	if target.Kind, found, err = session.DetectTransport(ctx, t.endpoint, o); err == nil {
		return target, "transport: " + found, end, nil
	}
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		err = fmt.Errorf("%w; to trust a certificate, give its PEM file: --ca FILE", err)
	case errors.Is(err, syscall.ECONNREFUSED) && t.command == nil:
		err = fmt.Errorf("%w; start the server first, or have mcpcheck start it: --url %s -- CMD", err,
			t.endpoint.Redacted())
	}
	return target, "", end, err
}

// unreachedRun is the result of a run whose target could not be reached.
func unreachedRun(ctx context.Context, began time.Time, seed uint64) *reports.Run {
	run := &reports.Run{
		Format: 1, Started: began.UTC(), MS: float64(time.Since(began).Microseconds()) / 1000, Seed: seed,
		Ended: reports.Complete, Target: reports.Target{Role: "server"},
	}
	if ctx.Err() != nil {
		run.Ended = reports.Interrupted
	}
	run.Count()
	return run
}
