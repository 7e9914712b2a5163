package localaws

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// decodeRequest reads a request strictly: a parameter that the engine does not
// know is refused by its name, never ignored.
func decodeRequest(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return refuse("SerializationException", "the request goes on after its JSON object")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid("The local engine does not support the parameter %s", strings.Trim(name, `"`))
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse("SerializationException", "%v", err)
	}
	return invalid("%v", err)
}
