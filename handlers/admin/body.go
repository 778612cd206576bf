package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// read reads the JSON object of a request into v; fields are its names, for
// people. False: the request is answered.
func (r *router) read(c *gin.Context, p *params, v any, fields string) bool {
	body, ok := r.body(c)
	if !ok {
		return false
	}
	if err := readObject(body, v, fields, p); err != nil {
		r.fail(c, err)
		return false
	}
	return true
}

// body reads the body of a request. False: the request is answered.
func (r *router) body(c *gin.Context) ([]byte, bool) {
	body, err := io.ReadAll(c.Request.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		problem(c, http.StatusRequestEntityTooLarge, "the body is too large", nil)
	case err != nil:
		problem(c, statusClientGone, "the client has gone", nil)
	}
	return body, err == nil
}

// bodiless refuses what a deed without fields would pass over: a filter that was put
// into the body, where it selects nothing, must not set everything moving.
func (r *router) bodiless(c *gin.Context) {
	body, ok := r.body(c)
	if !ok || len(bytes.TrimSpace(body)) == 0 {
		return
	}
	p, none := &params{}, struct{}{}
	err := readObject(body, &none, "none; parameters stand in the URL", p)
	if err == nil {
		err = p.err()
	}
	if err != nil {
		r.fail(c, err)
	}
}

// readObject reads one JSON object into v and notes what else is there. The error is
// an *InvalidError that names the field where the reader knows it.
func readObject(body []byte, v any, fields string, p *params) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		var wrongType *json.UnmarshalTypeError
		field, detail := "body", "must be one JSON object with fields of "+fields
		name, _ := gateway.UnknownField(err)
		switch {
		case errors.As(err, &wrongType) && wrongType.Field != "":
			field, detail = wrongType.Field, "must not be a "+wrongType.Value
		case name != "":
			field, detail = name, "is not known here; known: "+fields
		}
		return &InvalidError{Fields: []InvalidField{{Field: field, Detail: detail}}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		p.bad("body", "must be one JSON object")
	}
	return nil
}
