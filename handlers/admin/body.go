package admin

import (
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
	dec := json.NewDecoder(c.Request.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		r.unreadable(c, err, fields)
		return false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		p.bad("body", "must be one JSON object")
	}
	return true
}

// unreadable answers a body that is not the JSON asked for, naming the field
// where the reader knows it.
func (r *router) unreadable(c *gin.Context, err error, fields string) {
	var tooLarge *http.MaxBytesError
	var wrongType *json.UnmarshalTypeError
	field, detail := "body", "must be one JSON object with fields of "+fields
	name, _ := gateway.UnknownField(err)
	switch {
	case errors.As(err, &tooLarge):
		problem(c, http.StatusRequestEntityTooLarge, "the body is too large", nil)
		return
	case errors.As(err, &wrongType) && wrongType.Field != "":
		field, detail = wrongType.Field, "must not be a "+wrongType.Value
	case name != "":
		field, detail = name, "is not known here; known: "+fields
	}
	r.fail(c, &InvalidError{Fields: []InvalidField{{Field: field, Detail: detail}}})
}
