package authorization

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// authorizationUpstream is the probe of what a server passes on to others
// (basic/authorization#access-token-privilege-restriction).
func authorizationUpstream() []check.Check {
	return []check.Check{{
		ID:    "authorization.token.passthrough",
		Says:  "the token of the client is not passed on to where a tool is sent",
		Level: spec.Must, In: audience, On: transport.OnHTTP, Needs: "tools",
		Rules: []string{"authorization-no-token-passthrough"},
		// tokenPassthrough sends the tools that fetch what they are given to a page of
		// ours, and looks at what they bring. Only a server on the loopback interface can
		// get there.
		Probe: func(t *check.T) {
			nobody(t)
			if !isLoopback(t.HTTP().URL()) {
				t.NotObserved("a page of ours is to be had on the loopback interface alone", "judge an instance of the server there")
			}
			u, err := listenUpstream()
			if err != nil {
				t.NotObserved(err.Error(), "")
			}
			defer u.stop()
			for _, tool := range offer.Tools(t) {
				name := addressed(tool)
				made := offer.Arguments(t, tool, 1)
				if name == "" || len(made) == 0 || offer.OnlyAsTask(t, tool) || !t.Config().MayInvent(tool) {
					continue
				}
				args, ok := sendingTo(made[0], name, u.URL)
				if !ok {
					continue
				}
				if _, err := t.Try("tools/call", check.Params{"name": tool.Get("name").String(), "arguments": args}).Get(); err != nil {
					continue
				}
				for _, request := range u.requests() {
					if strings.Contains(request, t.Auth().Bearer()) {
						t.Fail("a request without the token", wire.Clip(request, 300), "tool %q was sent to a page of ours, and brought the access token of its client there", tool.Get("name").String())
					}
				}
			}
			if len(u.requests()) == 0 {
				t.NotObserved("no tool that may be called fetches what it is given by its URL", "allow one: --allow-tools")
			}
		},
	}}
}

// An upstream is a page of ours on the loopback interface, and who asked for it.
type upstream struct {
	URL  string
	stop func()

	mu   sync.Mutex
	came []string // each request as one text
}

// listenUpstream serves a page until stop is called.
func listenUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what a tool asks for: %w", err)
	}
	u := &upstream{URL: "http://" + l.Addr().String() + "/mcpcheck/page"}
	server := &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	u.stop = func() {
		server.Close() // which ends Serve with its own error
		<-ended
	}
	return u, nil
}

// maxUpstream bounds what is read of a request.
const maxUpstream = 64 << 10

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpstream))
	if err != nil {
		body = nil // who asked has left
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", r.Method, r.RequestURI)
	_ = r.Header.Write(&text) // a builder takes everything
	text.Write(body)
	u.mu.Lock()
	u.came = append(u.came, text.String())
	u.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintln(w, "A page of mcpcheck.")
}

func (u *upstream) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.came)
}

// addressed returns the argument of a tool that holds a URL, "" for none: it says
// so by its format, or by its name.
func addressed(tool gjson.Result) (name string) {
	tool.Get("inputSchema.properties").ForEach(func(key, property gjson.Result) bool {
		named := slices.Contains([]string{"url", "uri", "link", "href"}, strings.ToLower(key.String()))
		if property.Get("type").String() == "string" && (property.Get("format").String() == "uri" || named) {
			name = key.String()
		}
		return name == ""
	})
	return name
}

// sendingTo returns arguments that send a tool to a URL.
func sendingTo(arguments, name, to string) (check.Params, bool) {
	var args check.Params
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil, false
	}
	args[name] = to
	return args, true
}
