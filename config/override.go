package config

import (
	"reflect"
	"strconv"
	"strings"
)

// overrides replaces values by environment variables; see the package comment.
// It reports whether one was found.
func (d *decoder) overrides(v reflect.Value, path, prefix string) (found bool) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		fresh := newValue(v.Type().Elem())
		if found = d.overrides(fresh.Elem(), path, prefix); found {
			v.Set(fresh)
		}
	case v.Kind() == reflect.Pointer:
		found = d.overrides(v.Elem(), path, prefix)
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			name := prefix + "_" + envName(f.name)
			if f.short {
				found = d.override(v.Field(f.index), join(path, f.name), prefix) || found
			}
			found = d.overrides(v.Field(f.index), join(path, f.name), name) || found
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			entry := v.Index(i)
			if name := entry.FieldByName("Name"); name.IsValid() && name.String() != "" {
				at := path + "[" + strconv.Itoa(i) + "]"
				found = d.overrides(entry, at, prefix+"_"+envName(name.String())) || found
			}
		}
	default:
		found = d.override(v, path, prefix)
	}
	return found
}

// override sets one value, or one list of values, if its variable is set.
func (d *decoder) override(v reflect.Value, path, name string) bool {
	text, set := d.env(name)
	if !set {
		return false
	}
	d.places[path] = place{env: name}
	if v.Kind() != reflect.Slice {
		d.scalar(text, "", v, path)
		return true
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.scalar(part, "", e, path)
		out = reflect.Append(out, e)
	}
	v.Set(out)
	return true
}

func envName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }
