package localaws

import (
	"encoding/json"
	"strconv"
	"time"
)

// reply builds the JSON object of an answer field by field. Items and records
// are stored encoded, so most of an answer is copied, not encoded.
type reply struct{ b []byte }

func newReply() *reply { return &reply{b: []byte{'{'}} }

func (r *reply) bytes() []byte { return append(r.b, '}') }

// comma separates a value from one before it. The last byte tells: every
// value ends in something else.
func (r *reply) comma() {
	if last := r.b[len(r.b)-1]; last != '{' && last != '[' && last != ':' {
		r.b = append(r.b, ',')
	}
}

func (r *reply) name(name string) {
	r.comma()
	r.b = append(r.b, '"')
	r.b = append(r.b, name...)
	r.b = append(r.b, '"', ':')
}

func (r *reply) raw(name string, value []byte) {
	r.name(name)
	r.b = append(r.b, value...)
}

func (r *reply) text(name, value string) {
	r.name(name)
	r.b = appendQuoted(r.b, value)
}

func (r *reply) integer(name string, value int) {
	r.name(name)
	r.b = strconv.AppendInt(r.b, int64(value), 10)
}

func (r *reply) number(name string, value float64) {
	r.name(name)
	r.b = strconv.AppendFloat(r.b, value, 'f', -1, 64)
}

func (r *reply) bool(name string, value bool) {
	r.name(name)
	r.b = strconv.AppendBool(r.b, value)
}

// time writes a time as the services do: seconds since 1970, with milliseconds.
func (r *reply) time(name string, at time.Time) {
	r.name(name)
	r.b = strconv.AppendFloat(r.b, float64(at.UnixMilli())/1000, 'f', 3, 64)
}

// object writes a nested object whose fields inner writes.
func (r *reply) object(name string, inner func()) {
	r.name(name)
	r.b = append(r.b, '{')
	inner()
	r.b = append(r.b, '}')
}

// list writes a list of objects.
func (r *reply) list(name string, n int, element func(i int)) {
	r.name(name)
	r.b = append(r.b, '[')
	for i := range n {
		r.comma()
		r.b = append(r.b, '{')
		element(i)
		r.b = append(r.b, '}')
	}
	r.b = append(r.b, ']')
}

// values writes a list of values that are encoded already.
func (r *reply) values(name string, n int, element func(i int) []byte) {
	r.name(name)
	r.b = append(r.b, '[')
	for i := range n {
		r.comma()
		r.b = append(r.b, element(i)...)
	}
	r.b = append(r.b, ']')
}

func (r *reply) texts(name string, texts []string) {
	r.values(name, len(texts), func(i int) []byte { return appendQuoted(nil, texts[i]) })
}

func appendQuoted(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // a string cannot fail to marshal
		panic(err)
	}
	return append(dst, quoted...)
}
