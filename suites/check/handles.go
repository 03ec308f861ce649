package check

// The handles of T: each serves one kind of probe and shares the session and the
// outcome of its T.
type (
	// HTTP sends requests of HTTP and reads their answers.
	HTTP struct{ t *T }
	// Auth gives access tokens.
	Auth struct{ t *T }
	// Config holds what the user gives for the target.
	Config struct{ t *T }
	// Sessions opens and ends sessions.
	Sessions struct{ t *T }
	// Client is the client's side of the session: how it answers what the server
	// requests.
	Client struct{ t *T }
)

// HTTP returns the handle of requests of HTTP.
func (t *T) HTTP() HTTP { return HTTP{t} }

// Auth returns the handle of access tokens.
func (t *T) Auth() Auth { return Auth{t} }

// Config returns the handle of what the user gives for the target.
func (t *T) Config() Config { return Config{t} }

// Sessions returns the handle of sessions.
func (t *T) Sessions() Sessions { return Sessions{t} }

// Client returns the handle of the client's side of the session.
func (t *T) Client() Client { return Client{t} }
