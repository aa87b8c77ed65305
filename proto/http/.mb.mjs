// proto/http/.mb.ts
import { create as create2 } from "@bufbuild/protobuf";

// proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts
import { enumDesc as enumDesc3, fileDesc as fileDesc5, messageDesc as messageDesc3, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

// proto/gen/google/api/annotations_pb.ts
import { extDesc, fileDesc as fileDesc2 } from "@bufbuild/protobuf/codegenv2";

// proto/gen/google/api/http_pb.ts
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
var file_google_api_http = /* @__PURE__ */ fileDesc("ChVnb29nbGUvYXBpL2h0dHAucHJvdG8SCmdvb2dsZS5hcGkiVAoESHR0cBIjCgVydWxlcxgBIAMoCzIULmdvb2dsZS5hcGkuSHR0cFJ1bGUSJwofZnVsbHlfZGVjb2RlX3Jlc2VydmVkX2V4cGFuc2lvbhgCIAEoCCKBAgoISHR0cFJ1bGUSEAoIc2VsZWN0b3IYASABKAkSDQoDZ2V0GAIgASgJSAASDQoDcHV0GAMgASgJSAASDgoEcG9zdBgEIAEoCUgAEhAKBmRlbGV0ZRgFIAEoCUgAEg8KBXBhdGNoGAYgASgJSAASLwoGY3VzdG9tGAggASgLMh0uZ29vZ2xlLmFwaS5DdXN0b21IdHRwUGF0dGVybkgAEgwKBGJvZHkYByABKAkSFQoNcmVzcG9uc2VfYm9keRgMIAEoCRIxChNhZGRpdGlvbmFsX2JpbmRpbmdzGAsgAygLMhQuZ29vZ2xlLmFwaS5IdHRwUnVsZUIJCgdwYXR0ZXJuIi8KEUN1c3RvbUh0dHBQYXR0ZXJuEgwKBGtpbmQYASABKAkSDAoEcGF0aBgCIAEoCUJnCg5jb20uZ29vZ2xlLmFwaUIJSHR0cFByb3RvUAFaQWdvb2dsZS5nb2xhbmcub3JnL2dlbnByb3RvL2dvb2dsZWFwaXMvYXBpL2Fubm90YXRpb25zO2Fubm90YXRpb25zogIER0FQSWIGcHJvdG8z");

// proto/gen/google/api/annotations_pb.ts
import { file_google_protobuf_descriptor } from "@bufbuild/protobuf/wkt";
var file_google_api_annotations = /* @__PURE__ */ fileDesc2("Chxnb29nbGUvYXBpL2Fubm90YXRpb25zLnByb3RvEgpnb29nbGUuYXBpOksKBGh0dHASHi5nb29nbGUucHJvdG9idWYuTWV0aG9kT3B0aW9ucxiwyrwiIAEoCzIULmdvb2dsZS5hcGkuSHR0cFJ1bGVSBGh0dHBCbgoOY29tLmdvb2dsZS5hcGlCEEFubm90YXRpb25zUHJvdG9QAVpBZ29vZ2xlLmdvbGFuZy5vcmcvZ2VucHJvdG8vZ29vZ2xlYXBpcy9hcGkvYW5ub3RhdGlvbnM7YW5ub3RhdGlvbnOiAgRHQVBJYgZwcm90bzM", [file_google_api_http, file_google_protobuf_descriptor]);

// proto/gen/google/api/field_behavior_pb.ts
import { enumDesc, extDesc as extDesc2, fileDesc as fileDesc3 } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_descriptor as file_google_protobuf_descriptor2 } from "@bufbuild/protobuf/wkt";
var file_google_api_field_behavior = /* @__PURE__ */ fileDesc3("Ch9nb29nbGUvYXBpL2ZpZWxkX2JlaGF2aW9yLnByb3RvEgpnb29nbGUuYXBpKrYBCg1GaWVsZEJlaGF2aW9yEh4KGkZJRUxEX0JFSEFWSU9SX1VOU1BFQ0lGSUVEEAASDAoIT1BUSU9OQUwQARIMCghSRVFVSVJFRBACEg8KC09VVFBVVF9PTkxZEAMSDgoKSU5QVVRfT05MWRAEEg0KCUlNTVVUQUJMRRAFEhIKDlVOT1JERVJFRF9MSVNUEAYSFQoRTk9OX0VNUFRZX0RFRkFVTFQQBxIOCgpJREVOVElGSUVSEAg6ZAoOZmllbGRfYmVoYXZpb3ISHS5nb29nbGUucHJvdG9idWYuRmllbGRPcHRpb25zGJwIIAMoDjIZLmdvb2dsZS5hcGkuRmllbGRCZWhhdmlvckICEABSDWZpZWxkQmVoYXZpb3JCcAoOY29tLmdvb2dsZS5hcGlCEkZpZWxkQmVoYXZpb3JQcm90b1ABWkFnb29nbGUuZ29sYW5nLm9yZy9nZW5wcm90by9nb29nbGVhcGlzL2FwaS9hbm5vdGF0aW9uczthbm5vdGF0aW9uc6ICBEdBUEliBnByb3RvMw", [file_google_protobuf_descriptor2]);

// proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";

// proto/gen/svc/options/v1/options_pb.ts
import { enumDesc as enumDesc2, extDesc as extDesc3, fileDesc as fileDesc4, messageDesc as messageDesc2 } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_descriptor as file_google_protobuf_descriptor3 } from "@bufbuild/protobuf/wkt";
var file_svc_options_v1_options = /* @__PURE__ */ fileDesc4("ChxzdmMvb3B0aW9ucy92MS9vcHRpb25zLnByb3RvEg5zdmMub3B0aW9ucy52MSJyCghSZXNvdXJjZRILCgNzZGsYASABKAkSCwoDY2xpGAIgASgJEg8KB3N1bW1hcnkYAyABKAkSDwoHZmVhdHVyZRgEIAEoCRIqCghhdWRpZW5jZRgFIAEoDjIYLnN2Yy5vcHRpb25zLnYxLkF1ZGllbmNlIs0ECglPcGVyYXRpb24SCwoDc2RrGAEgASgJEgwKBGFyZ3MYAiADKAkSFQoNb3B0aW9uYWxfYXJncxgDIAMoCRIPCgdjb21tYW5kGAQgASgJEhQKDGNvbW1hbmRfYXJncxgFIAMoCRIiCgRhdXRoGAYgASgOMhQuc3ZjLm9wdGlvbnMudjEuQXV0aBIkCgVzY29wZRgHIAEoDjIVLnN2Yy5vcHRpb25zLnYxLlNjb3BlEiIKBHJvbGUYCCABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlEg8KB2ZlYXR1cmUYCSABKAkSMAoLaWRlbXBvdGVuY3kYCiABKA4yGy5zdmMub3B0aW9ucy52MS5JZGVtcG90ZW5jeRIWCg5zdWNjZXNzX3N0YXR1cxgLIAEoDRIiCgRwYWdlGAwgASgLMhQuc3ZjLm9wdGlvbnMudjEuUGFnZRImCgZzdHJlYW0YDSABKAsyFi5zdmMub3B0aW9ucy52MS5TdHJlYW0SEwoLZGVzdHJ1Y3RpdmUYDiABKAgSEgoKdGltZW91dF9tcxgPIAEoDRIWCg5ib2R5X2J5dGVzX21heBgQIAEoDRISCgpyYXRlX2xpbWl0GBEgASgJEiwKCXN0YWJpbGl0eRgSIAEoDjIZLnN2Yy5vcHRpb25zLnYxLlN0YWJpbGl0eRIpCghleGFtcGxlcxgTIAMoCzIXLnN2Yy5vcHRpb25zLnYxLkV4YW1wbGUSEwoLc2RrX3JldHVybnMYFCABKAkSDwoHY29sdW1ucxgVIAMoCSI/CgRQYWdlEg0KBWl0ZW1zGAEgASgJEhUKDWRlZmF1bHRfbGltaXQYAiABKA0SEQoJbWF4X2xpbWl0GAMgASgNIjAKBlN0cmVhbRIQCghpZF9maWVsZBgBIAEoCRIUCgxyZXN1bWVfZmllbGQYAiABKAkiMgoHRXhhbXBsZRINCgV0aXRsZRgBIAEoCRILCgNjbGkYAiABKAkSCwoDc2RrGAMgASgJIn4KBUZpZWxkEhEKCXNlbnNpdGl2ZRgBIAEoCBIMCgRmbGFnGAIgASgJEg0KBXNob3J0GAMgASgJEg4KBmhpZGRlbhgEIAEoCBITCgtwbGFjZWhvbGRlchgFIAEoCRISCgpjbGlfZm9ybWF0GAYgASgJEgwKBHJlc3QYByABKAgiFQoFVmFsdWUSDAoEbmFtZRgBIAEoCSplCghBdWRpZW5jZRIYChRBVURJRU5DRV9VTlNQRUNJRklFRBAAEhMKD0FVRElFTkNFX1BVQkxJQxABEhMKD0FVRElFTkNFX1JVTk5FUhACEhUKEUFVRElFTkNFX0lOVEVSTkFMEAMqsgEKBEF1dGgSFAoQQVVUSF9VTlNQRUNJRklFRBAAEg0KCUFVVEhfTk9ORRABEhEKDUFVVEhfT1BUSU9OQUwQAhIRCg1BVVRIX1JFUVVJUkVEEAMSEAoMQVVUSF9TRVNTSU9OEAQSDgoKQVVUSF9TVEFGRhAFEhkKFUFVVEhfRU5ST0xMTUVOVF9UT0tFThAGEg8KC0FVVEhfUlVOTkVSEAcSEQoNQVVUSF9JTlRFUk5BTBAIKvQDCgVTY29wZRIVChFTQ09QRV9VTlNQRUNJRklFRBAAEiQKD1NDT1BFX1RFQU1fUkVBRBABGg+KtRgLCgl0ZWFtOnJlYWQSKAoRU0NPUEVfVEVBTV9NQU5BR0UQAhoRirUYDQoLdGVhbTptYW5hZ2USKgoSU0NPUEVfUFJPSkVDVF9SRUFEEAMaEoq1GA4KDHByb2plY3Q6cmVhZBIsChNTQ09QRV9QUk9KRUNUX1dSSVRFEAQaE4q1GA8KDXByb2plY3Q6d3JpdGUSIgoOU0NPUEVfUlVOX1JFQUQQBRoOirUYCgoIcnVuOnJlYWQSJAoPU0NPUEVfUlVOX1dSSVRFEAYaD4q1GAsKCXJ1bjp3cml0ZRIoChFTQ09QRV9SVU5ORVJfUkVBRBAHGhGKtRgNCgtydW5uZXI6cmVhZBIsChNTQ09QRV9SVU5ORVJfTUFOQUdFEAgaE4q1GA8KDXJ1bm5lcjptYW5hZ2USIAoNU0NPUEVfQ0lfUkVBRBAJGg2KtRgJCgdjaTpyZWFkEiIKDlNDT1BFX0NJX1dSSVRFEAoaDoq1GAoKCGNpOndyaXRlEiQKD1NDT1BFX0NJX01BTkFHRRALGg+KtRgLCgljaTptYW5hZ2USHAoLU0NPUEVfU1RBRkYQDBoLirUYBwoFc3RhZmYqYQoEUm9sZRIUChBST0xFX1VOU1BFQ0lGSUVEEAASDwoLUk9MRV9WSUVXRVIQARISCg5ST0xFX0RFVkVMT1BFUhACEg4KClJPTEVfQURNSU4QAxIOCgpST0xFX09XTkVSEAQqiwEKC0lkZW1wb3RlbmN5EhsKF0lERU1QT1RFTkNZX1VOU1BFQ0lGSUVEEAASFQoRSURFTVBPVEVOQ1lfS0VZRUQQARIZChVJREVNUE9URU5DWV9TVEFURU1FTlQQAhIXChNJREVNUE9URU5DWV9OQVRVUkFMEAMSFAoQSURFTVBPVEVOQ1lfTk9ORRAEKm8KCVN0YWJpbGl0eRIZChVTVEFCSUxJVFlfVU5TUEVDSUZJRUQQABIUChBTVEFCSUxJVFlfU1RBQkxFEAESFQoRU1RBQklMSVRZX1BSRVZJRVcQAhIaChZTVEFCSUxJVFlfRVhQRVJJTUVOVEFMEAM6VwoIcmVzb3VyY2USHy5nb29nbGUucHJvdG9idWYuU2VydmljZU9wdGlvbnMY0YYDIAEoCzIYLnN2Yy5vcHRpb25zLnYxLlJlc291cmNlUghyZXNvdXJjZTpLCgJvcBIeLmdvb2dsZS5wcm90b2J1Zi5NZXRob2RPcHRpb25zGNGGAyABKAsyGS5zdmMub3B0aW9ucy52MS5PcGVyYXRpb25SAm9wOkwKBWZpZWxkEh0uZ29vZ2xlLnByb3RvYnVmLkZpZWxkT3B0aW9ucxjRhgMgASgLMhUuc3ZjLm9wdGlvbnMudjEuRmllbGRSBWZpZWxkOlAKBXZhbHVlEiEuZ29vZ2xlLnByb3RvYnVmLkVudW1WYWx1ZU9wdGlvbnMY0YYDIAEoCzIVLnN2Yy5vcHRpb25zLnYxLlZhbHVlUgV2YWx1ZWIGcHJvdG8z", [file_google_protobuf_descriptor3]);
var value = /* @__PURE__ */ extDesc3(file_svc_options_v1_options, 3);

// proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts
var file_svc_sandboxruns_v1_sandboxruns = /* @__PURE__ */ fileDesc5("CiRzdmMvc2FuZGJveHJ1bnMvdjEvc2FuZGJveHJ1bnMucHJvdG8SEnN2Yy5zYW5kYm94cnVucy52MSKVAgoGTGltaXRzEikKD3RpbWVvdXRfc2Vjb25kcxgBIAEoDUILukgIKgYYgKMFKAFIAIgBARIjCgltZW1vcnlfbWIYAiABKA1CC7pICCoGGICABCgQSAGIAQESLAoEY3B1cxgDIAEoAUIZukgWEhRAARkAAAAAAABQQCmamZmZmZm5P0gCiAEBEh0KBHBpZHMYBCABKA1CCrpIByoFGIAgKAhIA4gBARIpCgxvdXRwdXRfYnl0ZXMYBSABKA1CDrpICyoJGICAgIABKIAISASIAQFCEgoQX3RpbWVvdXRfc2Vjb25kc0IMCgpfbWVtb3J5X21iQgcKBV9jcHVzQgcKBV9waWRzQg8KDV9vdXRwdXRfYnl0ZXMi0AkKClNhbmRib3hSdW4SDwoCaWQYASABKAlCA+BBAxIUCgd0ZWFtX2lkGAIgASgJQgPgQQMSMQoHcHVycG9zZRgDIAEoDjIbLnN2Yy5zYW5kYm94cnVucy52MS5QdXJwb3NlQgPgQQMSMAoFc3RhdGUYBCABKA4yHC5zdmMuc2FuZGJveHJ1bnMudjEuUnVuU3RhdGVCA+BBAxI3CgZyZWFzb24YBSABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuRW5kUmVhc29uQgPgQQNIAIgBARIbCglleGl0X2NvZGUYBiABKAVCA+BBA0gBiAEBEhkKB21lc3NhZ2UYByABKAlCA+BBA0gCiAEBEhcKBWltYWdlGAggASgJQgPgQQNIA4gBARIUCgdjb21tYW5kGAkgAygJQgPgQQMSGQoHd29ya2RpchgKIAEoCUID4EEDSASIAQESFgoJZW52X25hbWVzGAsgAygJQgPgQQMSMQoHbmV0d29yaxgMIAEoDjIbLnN2Yy5zYW5kYm94cnVucy52MS5OZXR3b3JrQgPgQQMSNQoJaXNvbGF0aW9uGA0gASgOMh0uc3ZjLnNhbmRib3hydW5zLnYxLklzb2xhdGlvbkID4EEDEi8KBmxpbWl0cxgOIAEoCzIaLnN2Yy5zYW5kYm94cnVucy52MS5MaW1pdHNCA+BBAxI/CgZsYWJlbHMYDyADKAsyKi5zdmMuc2FuZGJveHJ1bnMudjEuU2FuZGJveFJ1bi5MYWJlbHNFbnRyeUID4EEDEhQKB2F0dGVtcHQYECABKA1CA+BBAxIbCglydW5uZXJfaWQYESABKAlCA+BBA0gFiAEBEh0KC3J1bm5lcl9uYW1lGBIgASgJQgPgQQNIBogBARIzCgpjcmVhdGVkX2F0GBMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDEjgKCmNsYWltZWRfYXQYFCABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNIB4gBARI4CgpzdGFydGVkX2F0GBUgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDSAiIAQESOQoLZmluaXNoZWRfYXQYFiABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNICYgBARIcCgptZXRlcmVkX21zGBcgASgNQgPgQQNICogBARIiChBzZWxmX3JlcG9ydGVkX21zGBggASgNQgPgQQNIC4gBARIWCglsb2dfYnl0ZXMYGSABKA1CA+BBAxIdChBjYW5jZWxfcmVxdWVzdGVkGBogASgIQgPgQQMaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUIJCgdfcmVhc29uQgwKCl9leGl0X2NvZGVCCgoIX21lc3NhZ2VCCAoGX2ltYWdlQgoKCF93b3JrZGlyQgwKCl9ydW5uZXJfaWRCDgoMX3J1bm5lcl9uYW1lQg0KC19jbGFpbWVkX2F0Qg0KC19zdGFydGVkX2F0Qg4KDF9maW5pc2hlZF9hdEINCgtfbWV0ZXJlZF9tc0ITChFfc2VsZl9yZXBvcnRlZF9tcyKdBwoNQ3JlYXRlUmVxdWVzdBIeCgd0ZWFtX2lkGAEgASgJQg3gQQKKtRgGEgR0ZWFtEj0KB3B1cnBvc2UYAiABKA4yGy5zdmMuc2FuZGJveHJ1bnMudjEuUHVycG9zZUIKukgHggEEEAEgAEgAiAEBEj8KBWltYWdlGAMgASgJQiu6SChyJhABGKwCMh9eW2EtekEtWjAtOV1bYS16QS1aMC05Ll86L0AtXSokSAGIAQESLQoHY29tbWFuZBgEIAMoCUIc4EECukgQkgENCAEQgAIiBnIEKICAAoq1GAI4ARJ/CgNlbnYYBSADKAsyKi5zdmMuc2FuZGJveHJ1bnMudjEuQ3JlYXRlUmVxdWVzdC5FbnZFbnRyeUJGukgymgEvEIABIiJyIDIeXltBLVphLXpfXVtBLVphLXowLTlfXXswLDEyN30kKgZyBCiAgAKKtRgNCAEyCWtleT12YWx1ZRIpCgd3b3JrZGlyGAYgASgJQhO6SBByDhj0AzIJXi9bXlxuXSokSAKIAQESIwoFc3RkaW4YByABKAlCD7pIBnIEKICAEIq1GAIIAUgDiAEBEj0KB25ldHdvcmsYCCABKA4yGy5zdmMuc2FuZGJveHJ1bnMudjEuTmV0d29ya0IKukgHggEEEAEgAEgEiAEBEi8KBmxpbWl0cxgJIAEoCzIaLnN2Yy5zYW5kYm94cnVucy52MS5MaW1pdHNIBYgBARJBCglpc29sYXRpb24YCiABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuSXNvbGF0aW9uQgq6SAeCAQQQASAASAaIAQESjAEKBmxhYmVscxgLIAMoCzItLnN2Yy5zYW5kYm94cnVucy52MS5DcmVhdGVSZXF1ZXN0LkxhYmVsc0VudHJ5Qk26SDSaATEQICImciQyIl5bYS16QS1aMC05XVthLXpBLVowLTkuXy8tXXswLDYyfSQqBXIDGMgBirUYEhIFbGFiZWwyCWtleT12YWx1ZRoqCghFbnZFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCCgoIX3B1cnBvc2VCCAoGX2ltYWdlQgoKCF93b3JrZGlyQggKBl9zdGRpbkIKCghfbmV0d29ya0IJCgdfbGltaXRzQgwKCl9pc29sYXRpb24ixQEKC0xpc3RSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SQAoFc3RhdGUYAiADKA4yHC5zdmMuc2FuZGJveHJ1bnMudjEuUnVuU3RhdGVCE7pIEJIBDRAHGAEiB4IBBBABIAASHgoFbGltaXQYAyABKA1CCrpIByoFGMgBKAFIAIgBARIfCgZjdXJzb3IYBCABKAlCCrpIB3IFEAEYgARIAYgBAUIICgZfbGltaXRCCQoHX2N1cnNvciJ4CgxMaXN0UmVzcG9uc2USOQoMc2FuZGJveF9ydW5zGAEgAygLMh4uc3ZjLnNhbmRib3hydW5zLnYxLlNhbmRib3hSdW5CA+BBAxIdCgtuZXh0X2N1cnNvchgCIAEoCUID4EEDSACIAQFCDgoMX25leHRfY3Vyc29yIiEKCkdldFJlcXVlc3QSEwoGcnVuX2lkGAEgASgJQgPgQQIiiAEKEVN0cmVhbUxvZ3NSZXF1ZXN0EhMKBnJ1bl9pZBgBIAEoCUID4EECEjQKBWFmdGVyGAIgASgJQiC6SB1yGzIZXlswLTldezEsMTB9LVswLTldezEsMTB9JEgAiAEBEhMKBmZvbGxvdxgDIAEoCEgBiAEBQggKBl9hZnRlckIJCgdfZm9sbG93IqkBCghMb2dFdmVudBIVCghwb3NpdGlvbhgBIAEoCUID4EEDEjIKBnN0cmVhbRgCIAEoDjIdLnN2Yy5zYW5kYm94cnVucy52MS5Mb2dTdHJlYW1CA+BBAxIRCgR0ZXh0GAMgASgJQgPgQQMSEgoFZXBvY2gYBCABKA1CA+BBAxIrCgJhdBgFIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAyIkCg1DYW5jZWxSZXF1ZXN0EhMKBnJ1bl9pZBgBIAEoCUID4EECKjoKB1B1cnBvc2USFwoTUFVSUE9TRV9VTlNQRUNJRklFRBAAEhYKElBVUlBPU0VfQUdFTlRfVEFTSxABKjQKB05ldHdvcmsSFwoTTkVUV09SS19VTlNQRUNJRklFRBAAEhAKDE5FVFdPUktfTk9ORRABKlIKCUlzb2xhdGlvbhIZChVJU09MQVRJT05fVU5TUEVDSUZJRUQQABIRCg1JU09MQVRJT05fQU5ZEAESFwoTSVNPTEFUSU9OX0NPTlRBSU5FUhACKsUBCghSdW5TdGF0ZRIZChVSVU5fU1RBVEVfVU5TUEVDSUZJRUQQABIUChBSVU5fU1RBVEVfUVVFVUVEEAESFQoRUlVOX1NUQVRFX09GRkVSRUQQAhIVChFSVU5fU1RBVEVfUlVOTklORxADEhcKE1JVTl9TVEFURV9TVUNDRUVERUQQBBIUChBSVU5fU1RBVEVfRkFJTEVEEAUSFwoTUlVOX1NUQVRFX0NBTkNFTExFRBAGEhIKDlJVTl9TVEFURV9ERUFEEAcqvQEKCUVuZFJlYXNvbhIaChZFTkRfUkVBU09OX1VOU1BFQ0lGSUVEEAASEwoPRU5EX1JFQVNPTl9FWElUEAESFgoSRU5EX1JFQVNPTl9USU1FT1VUEAISFQoRRU5EX1JFQVNPTl9NRU1PUlkQAxIYChRFTkRfUkVBU09OX0NBTkNFTExFRBAEEhkKFUVORF9SRUFTT05fTEVBU0VfTE9TVBAFEhsKF0VORF9SRUFTT05fRU5HSU5FX0VSUk9SEAYqbAoJTG9nU3RyZWFtEhoKFkxPR19TVFJFQU1fVU5TUEVDSUZJRUQQABIVChFMT0dfU1RSRUFNX1NURE9VVBABEhUKEUxPR19TVFJFQU1fU1RERVJSEAISFQoRTE9HX1NUUkVBTV9SVU5ORVIQAzLYBwoSU2FuZGJveFJ1bnNTZXJ2aWNlEqcCCgZDcmVhdGUSIS5zdmMuc2FuZGJveHJ1bnMudjEuQ3JlYXRlUmVxdWVzdBoeLnN2Yy5zYW5kYm94cnVucy52MS5TYW5kYm94UnVuItkBirUYrAEiBmNyZWF0ZTADOAZQAljJAYoBBnN1Ym1pdJoBjgEKDFByaW50IGEgbGluZRIocnVucyBjcmVhdGUgLS10ZWFtIHRlYW1fMDEgLS0gZWNobyBoZWxsbxpUc2FuZGJveFJ1bnMuY3JlYXRlKCd0ZWFtXzAxJywgeyBwdXJwb3NlOiAnYWdlbnRfdGFzaycsIGNvbW1hbmQ6IFsnZWNobycsICdoZWxsbyddIH0pgtPkkwIiOgEqIh0vdGVhbXMve3RlYW1faWR9L3NhbmRib3gtcnVucxLXAQoETGlzdBIfLnN2Yy5zYW5kYm94cnVucy52MS5MaXN0UmVxdWVzdBogLnN2Yy5zYW5kYm94cnVucy52MS5MaXN0UmVzcG9uc2UiiwGQAgGKtRhfMAM4BWITCgxzYW5kYm94X3J1bnMQMhjIAaoBAmlkqgEFc3RhdGWqAQZyZWFzb26qAQhleGl0Q29kZaoBCnJ1bm5lck5hbWWqAQltZXRlcmVkTXOqAQljcmVhdGVkQXSC0+STAh8SHS90ZWFtcy97dGVhbV9pZH0vc2FuZGJveC1ydW5zEnAKA0dldBIeLnN2Yy5zYW5kYm94cnVucy52MS5HZXRSZXF1ZXN0Gh4uc3ZjLnNhbmRib3hydW5zLnYxLlNhbmRib3hSdW4iKZACAYq1GAQwAzgFgtPkkwIYEhYvc2FuZGJveC1ydW5zL3tydW5faWR9EqEBCgpTdHJlYW1Mb2dzEiUuc3ZjLnNhbmRib3hydW5zLnYxLlN0cmVhbUxvZ3NSZXF1ZXN0Ghwuc3ZjLnNhbmRib3hydW5zLnYxLkxvZ0V2ZW50IkyQAgGKtRgiIgRsb2dzMAM4BWoRCghwb3NpdGlvbhIFYWZ0ZXJ4gLiZKYLT5JMCHRIbL3NhbmRib3gtcnVucy97cnVuX2lkfS9sb2dzMAESfwoGQ2FuY2VsEiEuc3ZjLnNhbmRib3hydW5zLnYxLkNhbmNlbFJlcXVlc3QaHi5zdmMuc2FuZGJveHJ1bnMudjEuU2FuZGJveFJ1biIyirUYBjADOAZQAYLT5JMCIjoBKiIdL3NhbmRib3gtcnVucy97cnVuX2lkfS9jYW5jZWwaJ4q1GCMKC3NhbmRib3hSdW5zEgRydW5zGgxTYW5kYm94IHJ1bnMoAWIGcHJvdG8z", [file_buf_validate_validate, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp, file_svc_options_v1_options]);
var SandboxRunSchema = /* @__PURE__ */ messageDesc3(file_svc_sandboxruns_v1_sandboxruns, 1);

// proto/http/json-decode.ts
import { create, fromJson, ScalarType as ScalarType3 } from "@bufbuild/protobuf";

// proto/http/enum-names.ts
import { getOption, hasOption } from "@bufbuild/protobuf";
var cache = /* @__PURE__ */ new WeakMap();
function enumNames(desc) {
  const known = cache.get(desc);
  if (known !== void 0) return known;
  const byNumber = /* @__PURE__ */ new Map();
  const byName = /* @__PURE__ */ new Map();
  for (const item of desc.values) {
    const name = spell(desc, item);
    const other = byName.get(name);
    if (other !== void 0 && other !== item.number) {
      throw new Error(`${desc.typeName}: "${name}" is the JSON spelling of two values; give one a (svc.options.v1.value).name`);
    }
    byName.set(name, item.number);
    if (!byNumber.has(item.number)) byNumber.set(item.number, name);
  }
  const names = { byNumber, byName, allowed: [...byName].filter(([, number]) => number !== 0).map(([name]) => name).join(", ") };
  cache.set(desc, names);
  return names;
}
function spell(desc, item) {
  const own = hasOption(item, value) ? getOption(item, value).name : "";
  if (own !== "") return own;
  const prefix = enumPrefix(desc.name);
  return (item.name.startsWith(prefix) ? item.name.slice(prefix.length) : item.name).toLowerCase();
}
function enumPrefix(name) {
  const snake = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3_$2$4");
  return `${snake.toUpperCase()}_`;
}

// proto/http/json-encode.ts
import { ScalarType, toJson } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
var cache2 = /* @__PURE__ */ new WeakMap();
function encoder(desc) {
  const known = cache2.get(desc);
  if (known !== void 0) return known;
  if (desc.typeName === "google.protobuf.Timestamp") return remember(desc, (message) => timestampText(message));
  if (desc.typeName.startsWith("google.protobuf.")) return remember(desc, (message) => JSON.stringify(toJson(desc, message)));
  let writers;
  return remember(desc, (message) => {
    writers ??= desc.fields.map(fieldWriter);
    const fields = message;
    let text = "{";
    for (const write of writers) {
      const piece = write(fields);
      if (piece !== "") text += text.length === 1 ? piece : `,${piece}`;
    }
    return `${text}}`;
  });
}
function remember(desc, encode) {
  cache2.set(desc, encode);
  return encode;
}
function fieldWriter(field) {
  const key = `${JSON.stringify(field.jsonName)}:`;
  const read = reader(field);
  const write = fieldValueWriter(field);
  const skipZero = field.fieldKind === "enum" && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return (message) => {
    const value2 = read(message);
    return value2 === void 0 || skipZero && value2 === 0 ? "" : key + write(value2);
  };
}
function reader(field) {
  const name = field.localName;
  if (field.oneof === void 0) return (message) => message[name];
  const group = field.oneof.localName;
  return (message) => {
    const chosen = message[group];
    return chosen.case === name ? chosen.value : void 0;
  };
}
function fieldValueWriter(field) {
  switch (field.fieldKind) {
    case "list":
      return listWriter(singleWriter(field));
    case "map":
      return mapWriter(singleWriter(field));
    default:
      return singleWriter(field);
  }
}
function singleWriter(field) {
  if (field.message !== void 0) {
    if (isWrapped(field)) return scalarWriter(field.message.fields[0]?.scalar ?? ScalarType.STRING);
    if (isBareStruct(field)) return (value2) => JSON.stringify(value2);
    const encode = encoder(field.message);
    return (value2) => encode(value2);
  }
  if (field.enum !== void 0) {
    const names = enumNames(field.enum).byNumber;
    const texts = new Map([...names].map(([number, name]) => [number, JSON.stringify(name)]));
    return (value2) => texts.get(value2) ?? String(value2);
  }
  return scalarWriter(field.scalar);
}
function isWrapped(field) {
  const desc = field.message;
  return field.fieldKind === "message" && field.oneof === void 0 && desc !== void 0 && WRAPPERS.has(desc.typeName);
}
var WRAPPERS = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map((name) => `google.protobuf.${name}Value`)
);
function isBareStruct(field) {
  return field.message?.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
}
function listWriter(write) {
  return (value2) => {
    let text = "[";
    for (const item of value2) text += text.length === 1 ? write(item) : `,${write(item)}`;
    return `${text}]`;
  };
}
function mapWriter(write) {
  return (value2) => {
    const map = value2;
    let text = "{";
    for (const key of Object.keys(map)) {
      const pair = `${quote(key)}:${write(map[key])}`;
      text += text.length === 1 ? pair : `,${pair}`;
    }
    return `${text}}`;
  };
}
function scalarWriter(type) {
  switch (type) {
    case ScalarType.STRING:
      return (value2) => quote(value2);
    case ScalarType.BOOL:
      return (value2) => value2 === true ? "true" : "false";
    case ScalarType.BYTES:
      return (value2) => `"${base64(value2)}"`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value2) => Number.isFinite(value2) ? String(value2) : `"${String(value2)}"`;
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return (value2) => String(value2);
    default:
      return (value2) => `"${String(value2)}"`;
  }
}
var ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
function quote(text) {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}
function base64(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
var SECONDS_MIN = -62135596800;
var SECONDS_MAX = 253402300799;
function timestampText(value2) {
  const seconds = Number(value2.seconds);
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || value2.nanos < 0 || value2.nanos > 999999999) {
    throw new Error(`cannot write the time ${value2.seconds} s ${value2.nanos} ns as JSON: years 0001 to 9999 only`);
  }
  const text = new Date(seconds * 1e3).toISOString();
  return `"${text.slice(0, 19)}${fraction(value2.nanos)}Z"`;
}
function fraction(nanos) {
  if (nanos === 0) return "";
  const digits = String(nanos).padStart(9, "0");
  if (digits.endsWith("000000")) return `.${digits.slice(0, 3)}`;
  return digits.endsWith("000") ? `.${digits.slice(0, 6)}` : `.${digits}`;
}

// proto/http/errors.ts
import { Code } from "@connectrpc/connect";
var entry = (status, connect, retryable = false) => ({ status, connect, retryable });
var ERRORS = {
  already_member: entry(409, Code.AlreadyExists),
  body_too_large: entry(413, Code.ResourceExhausted),
  boot_superseded: entry(409, Code.Aborted),
  client_closed: entry(499, Code.Canceled),
  clock_skew: entry(401, Code.Unauthenticated),
  credentials_invalid: entry(401, Code.Unauthenticated),
  credentials_missing: entry(401, Code.Unauthenticated),
  csrf_refused: entry(403, Code.PermissionDenied),
  deadline_exceeded: entry(504, Code.DeadlineExceeded, true),
  feature_disabled: entry(403, Code.PermissionDenied),
  feature_not_toggleable: entry(409, Code.FailedPrecondition),
  feature_unknown: entry(404, Code.NotFound),
  headers_too_large: entry(431, Code.ResourceExhausted),
  idempotency_in_progress: entry(409, Code.Aborted, true),
  idempotency_key_invalid: entry(400, Code.InvalidArgument),
  idempotency_key_reused: entry(422, Code.InvalidArgument),
  internal: entry(500, Code.Internal, true),
  invite_invalid: entry(404, Code.NotFound),
  invite_other_account: entry(403, Code.PermissionDenied),
  key_in_use: entry(409, Code.AlreadyExists),
  key_unknown: entry(401, Code.Unauthenticated),
  key_weak: entry(400, Code.InvalidArgument),
  last_owner: entry(409, Code.FailedPrecondition),
  limit_reached: entry(409, Code.FailedPrecondition),
  log_digest_mismatch: entry(409, Code.Aborted),
  log_gap: entry(409, Code.OutOfRange),
  method_not_allowed: entry(405, Code.Unimplemented),
  misdirected: entry(421, Code.InvalidArgument),
  name_taken: entry(409, Code.AlreadyExists),
  not_found: entry(404, Code.NotFound),
  password_weak: entry(400, Code.InvalidArgument),
  precondition_failed: entry(412, Code.FailedPrecondition),
  rate_limited: entry(429, Code.ResourceExhausted, true),
  reason_required: entry(400, Code.InvalidArgument),
  region_unknown: entry(400, Code.InvalidArgument),
  replayed: entry(401, Code.Unauthenticated),
  request_invalid: entry(400, Code.InvalidArgument),
  request_timeout: entry(408, Code.DeadlineExceeded, true),
  role_insufficient: entry(403, Code.PermissionDenied),
  runner_revoked: entry(401, Code.Unauthenticated),
  scope_missing: entry(403, Code.PermissionDenied),
  session_required: entry(403, Code.PermissionDenied),
  signature_invalid: entry(401, Code.Unauthenticated),
  signature_missing: entry(401, Code.Unauthenticated),
  stale_epoch: entry(409, Code.Aborted),
  team_protected: entry(409, Code.FailedPrecondition),
  token_invalid: entry(401, Code.Unauthenticated),
  totp_already_enrolled: entry(409, Code.FailedPrecondition),
  totp_invalid: entry(401, Code.Unauthenticated),
  totp_not_pending: entry(409, Code.FailedPrecondition),
  totp_required: entry(401, Code.Unauthenticated),
  unavailable: entry(503, Code.Unavailable, true),
  unsupported_media_type: entry(415, Code.InvalidArgument),
  username_taken: entry(409, Code.AlreadyExists),
  validation_failed: entry(400, Code.InvalidArgument)
};

// proto/http/json-text.ts
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

// proto/http/json-scalar.ts
import { ScalarType as ScalarType2 } from "@bufbuild/protobuf";
var INT64_MIN = -(2n ** 63n);
var INT64_MAX = 2n ** 63n - 1n;
var UINT64_MAX = 2n ** 64n - 1n;

// proto/http/.mb.ts
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
var run = create2(SandboxRunSchema, { id: "run_01jd5k0000000000000000000a", teamId: "team_01jd5k0000000000000000000a", purpose: 1, state: 4, reason: 1, exitCode: 0, command: ["echo", "hello world"], envNames: ["A", "B"], network: 1, isolation: 1, limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16777216 }, labels: { a: "b" }, attempt: 1, runnerId: "rnr_1", runnerName: "box", createdAt: timestampFromMs(1795172400123), claimedAt: timestampFromMs(1795172400123), startedAt: timestampFromMs(1795172400123), finishedAt: timestampFromMs(1795172400123), meteredMs: 5, logBytes: 12 });
var bench = (name, f, n = 1e5) => {
  for (let r = 0; r < 3; r++) {
    const t2 = performance.now();
    const c = process.cpuUsage();
    for (let i = 0; i < n; i++) f();
    const d = process.cpuUsage(c);
    if (r === 2) console.log(name, ((performance.now() - t2) / n * 1e3).toFixed(2), "us wall", ((d.user + d.system) / n).toFixed(2), "us cpu");
  }
};
var enc = encoder(SandboxRunSchema);
var sink = 0;
bench("rope", () => enc(run));
bench("rope+byteLength", () => {
  sink += Buffer.byteLength(enc(run));
});
bench("rope+Buffer.from", () => {
  sink += Buffer.from(enc(run)).length;
});
var tv = (d) => {
  const fs = d.fields.map((f) => {
    const one = f.message ? f.message.typeName === "google.protobuf.Timestamp" ? (v) => new Date(Number(v.seconds) * 1e3 + v.nanos / 1e6).toISOString() : tv(f.message) : f.enum ? /* @__PURE__ */ ((n) => (v) => n.get(v))(enumNames(f.enum).byNumber) : (v) => v;
    const w = f.fieldKind === "list" && (f.message || f.enum) ? (v) => v.map(one) : f.fieldKind === "map" && (f.message || f.enum) ? (v) => v : f.fieldKind === "list" || f.fieldKind === "map" ? (v) => v : one;
    return { n: f.localName, j: f.jsonName, w };
  });
  return (m) => {
    const o = {};
    for (const { n, j, w } of fs) {
      const v = m[n];
      if (v !== void 0) o[j] = w(v);
    }
    return o;
  };
};
var t = tv(SandboxRunSchema);
bench("tree+stringify", () => JSON.stringify(t(run)));
bench("tree+stringify+byteLength", () => {
  sink += Buffer.byteLength(JSON.stringify(t(run)));
});
console.log(sink);
