package store

import (
	"fmt"
	"reflect"
	"time"
)

// filled returns a record in which every field, nested ones too, has a value of
// its own that is not zero: a field that the store forgets shows as a difference.
func filled[T any]() T {
	var rec T
	n := 0
	fill(reflect.ValueOf(&rec).Elem(), &n)
	return rec
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(at.Add(time.Duration(*n) * time.Microsecond)))
		return
	case []byte:
		v.SetBytes(fmt.Appendf(nil, `{"n": %d}`, *n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d é\n", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 1.0/3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a record has a field of kind " + v.Kind().String())
	}
}
