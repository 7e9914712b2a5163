package localaws

import (
	"net/http"
	"strings"
)

// appKey is the context key under which a Transport says whose call it is.
type appKey struct{}

// escapeApp is what the SDK's User-Agent header makes of an application id
// (aws/middleware/user_agent.go, func rules): what is no letter, digit or one
// of a few signs becomes a hyphen, slashes as well.
func escapeApp(app string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', strings.ContainsRune("!#$%&'*+-.^_`|~", r):
			return r
		default:
			return '-'
		}
	}, app)
}

// appOf is the application a call comes from: what the User-Agent header says
// after "app/", with the escaping undone where the engine has met the
// application by its real name. A call without the header belongs to the
// application its transport was made for.
func (e *Engine) appOf(r *http.Request) string {
	own, _ := r.Context().Value(appKey{}).(string)
	told := ""
	for word := range strings.FieldsSeq(r.UserAgent()) {
		if app, ok := strings.CutPrefix(word, "app/"); ok {
			told = app
		}
	}
	if told == "" || told == escapeApp(own) {
		return own
	}
	e.clientMu.Lock()
	defer e.clientMu.Unlock()
	if app, ok := e.escaped[told]; ok {
		return app
	}
	return told
}
